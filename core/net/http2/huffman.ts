/** The Huffman code of HPACK (RFC 7541, 5.2 and appendix B). */

/** The symbols by the length of their codes. The code is canonical: within a length, and from one to the next, codes count up. */
const SYMBOLS: Readonly<Record<number, readonly number[]>> = {
  5: [48, 49, 50, 97, 99, 101, 105, 111, 115, 116],
  6: [32, 37, 45, 46, 47, 51, 52, 53, 54, 55, 56, 57, 61, 65, 95, 98, 100, 102, 103, 104, 108, 109, 110, 112, 114, 117],
  7: [
    58, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 89, 106, 107, 113, 118, 119, 120, 121, 122,
  ],
  8: [38, 42, 44, 59, 88, 90],
  10: [33, 34, 40, 41, 63],
  11: [39, 43, 124],
  12: [35, 62],
  13: [0, 36, 64, 91, 93, 126],
  14: [94, 125],
  15: [60, 96, 123],
  19: [92, 195, 208],
  20: [128, 130, 131, 162, 184, 194, 224, 226],
  21: [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230],
  22: [129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233],
  23: [
    1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197,
    231, 239,
  ],
  24: [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237],
  25: [199, 207, 234, 235],
  26: [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255],
  27: [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254],
  28: [2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127, 220, 249],
  30: [10, 13, 22, 256],
};
/** Ends the padding; never sent. */
const END_OF_STRING = 256;

/** One step of the automaton for a state and four bits: the next state, and perhaps a symbol. */
const SYMBOL_FLAG = 0x1_0000;
const FAILED = 0xff_ff_ff;

/** The state after every four bits: `SYMBOL_FLAG? | next << 8 | symbol`. */
interface Automaton {
  readonly steps: Uint32Array;
  /** 1: the string may end here, as less than a byte of ones is padding. */
  readonly accepts: Uint8Array;
}

const AUTOMATON = buildAutomaton();

/**
 * Decodes `bytes[from, to)` into `target`, which needs room for 8/5 of that.
 * @returns the number of bytes, -1 if the code is invalid
 */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number, target: Uint8Array): number {
  const { steps, accepts } = AUTOMATON;
  let state = 0;
  let length = 0;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = steps[(state << 4) | ((byte >> shift) & 15)] as number;
      if (step === FAILED) return -1;
      if ((step & SYMBOL_FLAG) !== 0) target[length++] = step & 0xff;
      state = (step >> 8) & 0xff;
    }
  }
  return accepts[state] === 1 ? length : -1;
}

/** A node of the code's tree: two children each, a number for a leaf. */
type Node = [Node | number | undefined, Node | number | undefined];

function buildTree(): Node {
  const root: Node = [undefined, undefined];
  let code = 0;
  let length = 0;
  for (const [text, symbols] of Object.entries(SYMBOLS)) {
    for (const symbol of symbols) {
      code <<= Number(text) - length;
      length = Number(text);
      insert(root, code++, length, symbol);
    }
  }
  return root;
}

function insert(root: Node, code: number, length: number, symbol: number): void {
  let node = root;
  for (let bit = length - 1; bit > 0; bit--) {
    const side = ((code >> bit) & 1) as 0 | 1;
    node = (node[side] ??= [undefined, undefined]) as Node;
  }
  node[(code & 1) as 0 | 1] = symbol;
}

/** States are the inner nodes of the tree, in the order they are found; the shortest code has five bits, so four bits hold one symbol at most. */
function buildAutomaton(): Automaton {
  const states: Node[] = [buildTree()];
  const numbers = new Map(states.map((node, at) => [node, at]));
  const depthOfOnes = new Map<Node, number>();
  const steps: number[] = [];
  for (let ones: Node | number | undefined = states[0], depth = 0; Array.isArray(ones) && depth < 8; ones = ones[1], depth++)
    depthOfOnes.set(ones, depth);
  const numberOf = (node: Node): number => {
    const known = numbers.get(node);
    if (known !== undefined) return known;
    numbers.set(node, states.length);
    return states.push(node) - 1;
  };
  for (let at = 0; at < states.length; at++)
    for (let bits = 0; bits < 16; bits++) steps.push(stepFrom(states[at] as Node, states[0] as Node, bits, numberOf));
  return { steps: Uint32Array.from(steps), accepts: Uint8Array.from(states, (node) => (depthOfOnes.has(node) ? 1 : 0)) };
}

function stepFrom(start: Node, root: Node, bits: number, numberOf: (node: Node) => number): number {
  let node = start;
  let emitted = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const child = node[((bits >> bit) & 1) as 0 | 1];
    if (child === undefined || child === END_OF_STRING) return FAILED;
    if (typeof child === 'number') {
      emitted = SYMBOL_FLAG | child;
      node = root;
    } else node = child;
  }
  return (emitted & SYMBOL_FLAG) | (numberOf(node) << 8) | (emitted & 0xff);
}
