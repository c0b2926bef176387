/** A file of users as `htpasswd` writes it: `name:hash`, or `name:hash:comment`. */

/** One user. */
export interface User {
  /** The hash with its form in front, `$6$…`, `{SSHA}…`. Bytes as a latin1 string. */
  readonly stored: string;
}

/** The users of a file. */
export interface Users {
  readonly byName: ReadonlyMap<string, User>;
  /** Any user, who is checked in the place of an unknown user: it takes as long. */
  readonly decoys: readonly User[];
}

/** A line that cannot be used. */
export interface BadLine {
  /** 1-based. */
  readonly line: number;
  readonly message: string;
}

const CHARACTER = '[./0-9A-Za-z]';
/** The forms of hashes that can be checked. */
const FORMS: readonly RegExp[] = [
  /^\{PLAIN\}/,
  /^\{SHA\}[A-Za-z0-9+/]{27}=$/,
  /^\{SSHA\}[A-Za-z0-9+/]{28,}={0,2}$/,
  new RegExp(String.raw`^\$(?:apr1|1)\$[^$]{0,8}\$${CHARACTER}{22}$`),
  new RegExp(String.raw`^\$5\$(?:rounds=\d{1,9}\$)?[^$]{0,16}\$${CHARACTER}{43}$`),
  new RegExp(String.raw`^\$6\$(?:rounds=\d{1,9}\$)?[^$]{0,16}\$${CHARACTER}{86}$`),
  new RegExp(String.raw`^\$2[aby]\$(?:0[4-9]|[12]\d|3[01])\$${CHARACTER}{53}$`),
  new RegExp(`^${CHARACTER}{13}$`),
];
export const FORMS_HINT = 'supported: bcrypt, SHA-crypt ($5$, $6$), apr1, MD5-crypt, DES crypt, {SHA}, {SSHA}, {PLAIN}';

/** Of a user that is there twice the first line counts. Errors are passed to `reject`, and the line is left out. */
export function parseUsers(bytes: Buffer, reject: (bad: BadLine) => void): Users {
  const byName = new Map<string, User>();
  for (const [at, text] of bytes.latin1Slice().split(/\r?\n/).entries()) {
    if (text === '' || text.startsWith('#')) continue;
    const [name = '', stored] = text.split(':', 2);
    if (stored === undefined) reject({ line: at + 1, message: 'a line of a file of users must be "name:hash"' });
    else if (!FORMS.some((form) => form.test(stored)))
      reject({ line: at + 1, message: `the hash of user "${textOf(name)}" has no supported form` });
    else if (!byName.has(name)) byName.set(name, { stored });
  }
  return { byName, decoys: [...byName.values()] };
}

/** Text for people from a string of bytes. */
export function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}

/** The user whose hash is checked in the place of an unknown one: the same one for the same name. */
export function decoyFor(name: string, { decoys }: Users): User | undefined {
  let sum = name.length;
  for (let at = 0; at < name.length; at++) sum = (Math.imul(sum, 31) + name.charCodeAt(at)) >>> 0;
  return decoys[sum % decoys.length];
}
