/** Bytes of each part of a key: its name, the key of the HMAC, the key of AES-128. */
const PART = 16;

/** Parts of longer keys, those for AES-256: Node takes 48 bytes. @param keys name, HMAC key, AES key */
export function keysOfNode(keys: Buffer): Buffer {
  if (keys.length === 3 * PART) return keys;
  const [hmac, aes] = [PART, PART + (keys.length - PART) / 2];
  return Buffer.concat([keys.subarray(0, PART), keys.subarray(hmac, hmac + PART), keys.subarray(aes, aes + PART)]);
}

/** Handle of Node beneath a SecureContext: the only way to several keys (src/crypto/crypto_context.cc, TicketKeyCallback). */
interface NativeContext {
  enableTicketKeyCallback(): void;
  onticketkeycallback: (
    name: Buffer,
    iv: Buffer,
    encrypts: boolean,
  ) => readonly [result: number, hmac: Buffer, aes: Buffer, name?: Buffer, iv?: Buffer];
}

/** Results for OpenSSL (SSL_CTX_set_tlsext_ticket_key_cb): unknown key, use it, use it and give the client another ticket. */
const UNKNOWN = 0;
const USE = 1;
const RENEW = 2;

/**
 * Lets a server encrypt tickets with the first of these keys and accept those of all.
 * @param keys name, HMAC key and AES key of 16 bytes each
 */
export function useTicketKeys({ context }: { readonly context: unknown }, keys: readonly Buffer[]): void {
  const native = context as NativeContext;
  const parts = keys.map((key) => ({
    name: key.subarray(0, PART),
    hmac: key.subarray(PART, 2 * PART),
    aes: key.subarray(2 * PART, 3 * PART),
  }));
  const [first] = parts;
  if (first === undefined) return;
  const { randomBytes } = process.getBuiltinModule('node:crypto');
  native.enableTicketKeyCallback();
  native.onticketkeycallback = (name, _iv, encrypts) => {
    if (encrypts) return [USE, first.hmac, first.aes, first.name, randomBytes(PART)];
    const key = parts.find((candidate) => candidate.name.equals(name));
    // Node ends the process if there are no keys, whatever the result is.
    if (key === undefined) return [UNKNOWN, first.hmac, first.aes];
    return [key === first ? USE : RENEW, key.hmac, key.aes];
  };
}
