/** The memory of a piece that its writer lends: valid during the call, unless the stream retains the buffer. */
export interface Lender {
  /** Hands the buffer of the last read over; it comes back through `ReadBuffers.give`. Undefined: the memory cannot be retained. */
  keepBuffer(): Buffer | undefined;
  /** The memory is used for nothing else before the next read. */
  readonly hasOwnBuffer: boolean;
}
