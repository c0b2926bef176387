/** Names of certificates in the forms of nginx's variables. */

/** Between the values of one part, as Node writes them; a `+` of a value has a backslash in front. */
const AND = ' + ';

/** The form of RFC 2253 in ASCII, as nginx has it: `CN=deploy,O=Ex\C3\A4mple`. */
export function asciiName(name: string): string {
  return escapedBytes(name.replaceAll(AND, '+'), (byte) => `\\${byte}`);
}

/**
 * The form of before RFC 2253, as X509_NAME_oneline() of OpenSSL writes it: `/O=Example/CN=deploy`.
 * @param parts those of RFC 2253, in the order of the certificate
 */
export function legacyName(parts: readonly string[]): string {
  return parts.map((part) => `/${part.split(AND).map(legacyValue).join('+')}`).join('');
}

function legacyValue(value: string): string {
  const plain = value.replaceAll(/\\(?:([0-9A-F]{2})|(.))/gs, (_, byte: string | undefined, character: string) =>
    byte === undefined ? character : String.fromCharCode(Number.parseInt(byte, 16)),
  );
  return escapedBytes(plain.replaceAll(/[/+]/g, String.raw`\$&`), (byte) => `\\x${byte}`);
}

/** Replaces bytes other than printable ASCII. @param escape of two hexadecimal digits */
function escapedBytes(text: string, escape: (byte: string) => string): string {
  const bytes = Buffer.from(text).latin1Slice();
  return bytes.replaceAll(/[^ -~]/g, (byte) => escape(byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')));
}
