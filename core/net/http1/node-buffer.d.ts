/** Methods that Node's Buffer has and its types leave out: toString and write of one encoding, without looking the encoding up. */
interface Buffer {
  latin1Slice(start?: number, end?: number): string;
  latin1Write(text: string, offset?: number, length?: number): number;
}
