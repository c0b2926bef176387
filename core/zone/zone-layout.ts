/** "srvz" */
export const MAGIC = 0x7a767273;
/** Changes whenever the layout of anything in a zone does. */
export const VERSION = 1;

/** Size classes of the slab: 8 linear steps of 8 bytes below 64 bytes, then 8 steps in each power of two up to 2 GB. */
export const ROWS = 27;
export const COLUMNS = 8;

/** Words (of 4 bytes) at the beginning of a zone. */
export const Word = {
  magic: 0,
  version: 1,
  size: 2,
  lock: 3,
  epoch: 4,
  directory: 5,
  /** Bytes of the blocks in use, their headers included. */
  used: 6,
  /** Offset of the last block, which ends the chain of blocks. */
  end: 7,
  /** One bit for each row that has a free block. */
  rows: 8,
  /** For each row one bit for each size class that has a free block. */
  columns: 9,
  /** For each size class its first free block. */
  heads: 9 + ROWS,
} as const;

const words = Word.heads + ROWS * COLUMNS;
/** Where the blocks begin: a multiple of 8. */
export const HEADER_BYTES = (words + (words % 2)) * 4;

/** Offsets and sizes stay below 2^31. */
export const MAX_SIZE = 2 ** 31 - 8;
