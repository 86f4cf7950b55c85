C     As short as a LAPI program of chapter 9 is: no declarations but the
C     include file's, and an array of integers for the structure.
      include 'lapif.h'
      integer :: handle, ierror, at
      integer :: info(25)
      do at = 1, 25
        info(at) = 0
      end do
      call LAPI_INIT(handle, info, ierror)
      write (*, '(i1)') ierror
      call LAPI_TERM(handle, ierror)
      write (*, '(i1)') ierror
      end
