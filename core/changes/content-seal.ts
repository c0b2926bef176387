/**
 * Content of changes and snapshots on its way through Redis: JSON, deflated where it is long, and encrypted with the key of the cluster, if there is one
 * (AES-256-GCM). Without a key, content with a private key in it is rejected.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { ApiError } from '../contract/control.js';
import { hasKey } from '../contract/secrets.js';

/** Bytes from which on content is deflated. */
const LONG = 2048;
/** Bytes that content may have. */
const MOST_BYTES = 1024 ** 3;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const PLAIN = 'j';
const DEFLATED = 'z';
const SEALED = 's';

export class ContentSeal {
  #of: string | undefined;
  #key: Buffer | undefined;

  /** @param secret content of `cluster_key_file`; undefined: there is none */
  constructor(private readonly secret: () => string | undefined) {}

  /**
   * @param what text that {@link open} has to be given as well: content of another place is not accepted
   * @throws ApiError 409 `ClusterKeyMissing`
   */
  seal(content: unknown, what: string): string {
    const json = JSON.stringify(content);
    const key = this.#keyNow();
    if (key === undefined) {
      if (hasKey(json)) throw keyMissing();
      return json.length < LONG ? PLAIN + json : DEFLATED + deflateRawSync(json).toString('base64');
    }
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(what));
    const sealed = Buffer.concat([cipher.update(deflateRawSync(json)), cipher.final()]);
    return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** @throws Error with what to do when it cannot be read */
  open(text: string, what: string): unknown {
    const [form, rest] = [text[0], text.slice(1)];
    const key = this.#keyNow();
    // Else who can write to Redis would need no key.
    if (key !== undefined && (form === PLAIN || form === DEFLATED))
      throw new Error('the content in Redis is not encrypted, as this node expects: set the same "cluster_key_file" on all nodes');
    if (form === PLAIN) return JSON.parse(rest);
    if (form === DEFLATED) return inflated(Buffer.from(rest, 'base64'));
    if (form !== SEALED) throw new Error('the content in Redis is of no known form');
    if (key === undefined) throw new Error('the other nodes encrypt their changes: set "cluster_key_file", with the same key');
    const bytes = Buffer.from(rest, 'base64');
    const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES }).setAAD(
      Buffer.from(what),
    );
    cipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const parts: Buffer[] = [cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))];
    try {
      parts.push(cipher.final());
    } catch {
      throw new Error('the content in Redis was changed, or encrypted with another key: set the same "cluster_key_file" on all nodes');
    }
    return inflated(Buffer.concat(parts));
  }

  #keyNow(): Buffer | undefined {
    const secret = this.secret();
    if (secret === undefined) return undefined;
    if (secret !== this.#of) {
      this.#of = secret;
      this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'srv cluster changes', 32));
    }
    return this.#key;
  }
}

const inflated = (bytes: Buffer): unknown => JSON.parse(inflateRawSync(bytes, { maxOutputLength: MOST_BYTES }).toString());

function keyMissing(): ApiError {
  const text = 'a private key travels to other nodes encrypted only: set "cluster_key_file" on all of them; nothing was changed';
  return new ApiError(409, 'ClusterKeyMissing', text);
}
