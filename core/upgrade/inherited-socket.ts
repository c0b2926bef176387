/** A socket that the new program has inherited. */
export interface InheritedSocket {
  /** As SocketRequest has it: the same for what is the same socket. */
  readonly key: string;
  /** Its listener: the number of a worker, or the name of a helper. */
  readonly owner: number | string;
  readonly descriptor: number;
  /** Of the socket itself: the descriptor may have become another one's in the moment of the start. */
  readonly inode: number;
}
