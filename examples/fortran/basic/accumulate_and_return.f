C     Task 0 sends numbers to task 1, which adds its own to them and
C     sends the sums back: in old Fortran, with lapif.h. The header
C     handler of either task takes the numbers, the completion handler
C     of task 1 answers, the one of task 0 lets the program go on.
C     tasks: 2
C     output: task 0 has 101 202 303 404
      program accum
      include 'lapif.h'
      include 'accumulate.inc'
      integer(kind=LAPI_ADDR_TYPE) hdr, addr, index
      external hdr
      type (LAPI_INFO_T) info
      integer i, err, tag(2), left
      info%protocol = 0
      info%lib_vers = LAST_LIB
      info%epoch_num = 0
      info%num_compl_hndlr_thr = 0
      info%instance_no = 0
      info%info6 = 0
      info%err_hndlr = LAPI_ADDR_NULL
      info%lapi_thread_attr = LAPI_ADDR_NULL
      info%adapter_name = LAPI_ADDR_NULL
      info%add_info = LAPI_ADDR_NULL
      call LAPI_INIT(h, info, err)
      if (err .ne. LAPI_SUCCESS) stop 1
      call LAPI_QENV(h, TASK_ID, me, err)
      call LAPI_SETCNTR(h, back, 0, err)
      do 10 i = 1, 4
        own(i) = 100*i
   10 continue
      call LAPI_ADDRESS(hdr, addr, err)
      call LAPI_ADDR_SET(h, addr, 1, err)
      call LAPI_GFENCE(h, err)
      if (me .eq. 0) then
        do 20 i = 1, 4
          data(i) = i
   20   continue
        tag(1) = 4
        tag(2) = 0
        index = 1
        call LAPI_AMSEND(h, 1, index, tag, 8, data,                     &
     &                   16_LAPI_LONG_TYPE, LAPI_ADDR_NULL,             &
     &                   LAPI_ADDR_NULL, LAPI_ADDR_NULL, err)
        if (err .ne. LAPI_SUCCESS) stop 1
        call LAPI_WAITCNTR(h, back, 1, left, err)
        write (*, '(a, i0, a, 4(1x, i0))') 'task ', me, ' has', sums
      end if
      call LAPI_GFENCE(h, err)
      call LAPI_TERM(h, err)
      end

      function hdr(hndl, uhdr, uhdrln, msglen, comph, uinfo)
      include 'lapif.h'
      include 'accumulate.inc'
      integer(kind=LAPI_ADDR_TYPE) hdr, comph
      integer(kind=LAPI_LONG_TYPE) msglen
      integer hndl, uhdr(*), uhdrln, err
      type (LAPI_ADDR_T) uinfo
      external compl
      count = uhdr(1)
      call LAPI_ADDRESS(compl, comph, err)
      call LAPI_ADDRESS(count, uinfo%addr, err)
      call LAPI_ADDRESS(sums, hdr, err)
      end

      subroutine compl(hndl, n)
      include 'lapif.h'
      include 'accumulate.inc'
      integer hndl, n, i, err, tag(2)
      integer(kind=LAPI_ADDR_TYPE) index
      if (me .eq. 0) then
        call LAPI_SETCNTR(hndl, back, 1, err)
      else
        do 30 i = 1, n
          data(i) = sums(i) + own(i)
   30   continue
        tag(1) = n
        tag(2) = 0
        index = 1
        call LAPI_AMSEND(hndl, 0, index, tag, 8, data,                  &
     &                   int(4*n, LAPI_LONG_TYPE), LAPI_ADDR_NULL,      &
     &                   LAPI_ADDR_NULL, LAPI_ADDR_NULL, err)
      end if
      end
