/** Two bytes each: as hexadecimal digits. */
const PAIRS = Array.from({ length: 65_536 }, (_, value) => value.toString(16).padStart(4, '0'));

const INVALID_TRACE = '0'.repeat(32);
const INVALID_SPAN = '0'.repeat(16);

/** Ids need to be unique, not secret: the generator of the language is seeded for each thread. */
function randomDigits(): string {
  const high = Math.random() * 4_294_967_296;
  const low = Math.random() * 4_294_967_296;
  return PAIRS[high >>> 16]! + PAIRS[high & 0xffff]! + PAIRS[low >>> 16]! + PAIRS[low & 0xffff]!;
}

/** 32 hexadecimal digits, not all of them zero. */
export function newTraceId(): string {
  const id = randomDigits() + randomDigits();
  return id === INVALID_TRACE ? newTraceId() : id;
}

/** 16 hexadecimal digits, not all of them zero. */
export function newSpanId(): string {
  const id = randomDigits();
  return id === INVALID_SPAN ? newSpanId() : id;
}
