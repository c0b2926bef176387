/** Numbers of Linux, the same on x86-64 and arm64. */
export const enum Errno {
  NoEntry = 2,
  Interrupted = 4,
  BadDescriptor = 9,
  Again = 11,
  NoFolder = 20,
  InvalidArgument = 22,
  TableFull = 23,
  TooManyOpen = 24,
  BrokenPipe = 32,
  NameTooLong = 36,
  Protocol = 71,
  MessageSize = 90,
  Aborted = 103,
  Reset = 104,
  NoBuffers = 105,
  InProgress = 115,
}
