import { certificatesIn } from '../contract/certificates.js';
import { quoteWord } from '../contract/words.js';

const MARK = '-----BEGIN CERTIFICATE-----';
/** A certificate in an argument: with its line ends it is always in quotes. */
const QUOTED = /"data:(?:[^"\\]|\\.)*"|'data:(?:[^'\\]|\\.)*'/gs;

/** Printed directives as differences show them: a certificate in an argument by its subject and fingerprint, of a chain those of its first. */
export function withShortCertificates(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replaceAll(QUOTED, (word) => (word.includes(MARK) ? quoteWord(`data:(${nameOf(word)})`) : word));
}

function nameOf(word: string): string {
  try {
    const [first] = certificatesIn(word.replaceAll(String.raw`\n`, '\n').replaceAll(String.raw`\r`, '\r'));
    if (first !== undefined) return `${first.subject.split('\n').join(', ')}, sha256:${first.fingerprint256}`;
  } catch {
    // A text that is not a certificate is not shown as one.
  }
  return 'certificate';
}
