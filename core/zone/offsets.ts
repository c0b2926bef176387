/** Everything in a zone is addressed by its offset in bytes; views of typed arrays, by an index. These two are all the arithmetic between them. */

/** Index of the 4-byte word at `offset`, in the views `u32` and `i32` of a zone. */
export const wordOf = (offset: number): number => offset >>> 2;

/** Index of the 8-byte number at `offset`, in the view `f64` of a zone. */
export const numberOf = (offset: number): number => offset >>> 3;
