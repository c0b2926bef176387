/** Reason of a change, in the words of the caller: the header field `Change-Message` of a write. */
import type { FieldError } from './schema.js';

/** Characters of a message: a line of a list of changes. */
const LONGEST = 200;
/** Characters that would begin another line where messages are listed, or change how it is shown. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** @param bytes of the header field, latin1 @returns undefined where nothing is said */
export function readChangeMessage(bytes: string | undefined, errors: FieldError[]): string | undefined {
  if (bytes === undefined || bytes === '') return undefined;
  const text = decoded(bytes);
  const wrong = text === undefined ? 'must be UTF-8' : errorOf(text);
  if (wrong === undefined) return text;
  errors.push({ pointer: 'Change-Message', message: wrong });
  return undefined;
}

function errorOf(text: string): string | undefined {
  if (UNPRINTABLE.test(text)) return 'must be one line without control characters';
  return text.length > LONGEST ? `must not have more than ${LONGEST} characters` : undefined;
}

function decoded(bytes: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}
