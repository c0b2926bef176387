/** Properties of characters in PCRE: `\p{L}`. Without its UTF mode, which nginx does not use, a byte is the character of Latin-1 with that number. */
import { LAST_BYTE, type CharacterSet } from './character-set.js';

/** General categories, and further ones of PCRE, as JavaScript writes them within brackets. */
const OF_PCRE: Readonly<Record<string, string>> = {
  any: String.raw`\p{Any}`,
  'l&': String.raw`\p{LC}`,
  lc: String.raw`\p{LC}`,
  xan: String.raw`\p{L}\p{N}`,
  xps: String.raw`\p{Z}\t-\r`,
  xsp: String.raw`\p{Z}\t-\r`,
  xuc: '$@`\\xa0-\\xff',
  xwd: String.raw`\p{L}\p{N}_`,
};
const CATEGORY = /^(?:C[cfnos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/i;

/** The bytes that have a property; undefined if PCRE knows none of that name. Case, spaces, `-` and `_` of the name do not matter. */
export function propertySet(name: string): CharacterSet | undefined {
  const plain = name.replaceAll(/[\s_-]/g, '');
  for (const members of formsOf(plain)) {
    try {
      return bytesIn(new RegExp(`[${members}]`, 'u'));
    } catch {
      // No property of JavaScript.
    }
  }
  return undefined;
}

function* formsOf(plain: string): Generator<string> {
  const own = Object.hasOwn(OF_PCRE, plain.toLowerCase()) ? OF_PCRE[plain.toLowerCase()] : undefined;
  if (own !== undefined) yield own;
  const capitalised = plain.charAt(0).toUpperCase() + plain.slice(1).toLowerCase();
  if (CATEGORY.test(plain)) yield `\\p{${capitalised}}`;
  else if (/^[a-z]+$/i.test(plain)) {
    yield `\\p{Script=${capitalised}}`;
    yield `\\p{${capitalised}}`;
  }
}

function bytesIn(members: RegExp): CharacterSet {
  const set: (readonly [number, number])[] = [];
  for (let code = 0; code <= LAST_BYTE; code++) {
    if (!members.test(String.fromCharCode(code))) continue;
    const last = set.at(-1);
    if (last !== undefined && last[1] === code - 1) set[set.length - 1] = [last[0], code];
    else set.push([code, code]);
  }
  return set;
}
