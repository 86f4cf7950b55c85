//! Traffic survives a loopback that is slow and often busy.

lapis_conformance::chaos_tests!(Alone, lapis_loopback::table(), "again=0.3,delay=50us,seed=11");
