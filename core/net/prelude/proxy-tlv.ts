/** The TLVs of PROXY protocol version 2 by nginx's names. */

/** Types that have a name (`$proxy_protocol_tlv_authority`); others are asked for by number (`$proxy_protocol_tlv_0x03`). */
const TYPES: Readonly<Record<string, number>> = { alpn: 0x01, authority: 0x02, unique_id: 0x05, ssl: 0x20, netns: 0x30 };
/** Types within the TLV `ssl` (`$proxy_protocol_tlv_ssl_cn`). */
const SSL_TYPES: Readonly<Record<string, number>> = { version: 0x21, cn: 0x22, cipher: 0x23, sig_alg: 0x24, key_alg: 0x25 };
/** Header of the TLVs within `ssl`: a byte of flags and the result of the verification. */
const SSL_FIXED = 5;

const HEAD = 3;

/** Reads one TLV from the bytes of all. Undefined: it is missing, or cut off. As bytes in latin1. */
export type TlvReader = (tlvs: Buffer) => string | undefined;

/** The reader for what follows `$proxy_protocol_tlv_`; undefined: nginx has no TLV of that name. */
export function tlvReader(name: string): TlvReader | undefined {
  const lowerName = name.toLowerCase();
  if (lowerName === 'ssl_verify') return verifyResult;
  const inner = lowerName.startsWith('ssl_') ? lowerName.slice(4) : undefined;
  if (inner === undefined) return typeReader(typeOf(lowerName, TYPES), (tlvs) => tlvs);
  return typeReader(typeOf(inner, SSL_TYPES), (tlvs) => valueOf(tlvs, TYPES['ssl'] as number)?.subarray(SSL_FIXED));
}

function typeReader(type: number | undefined, within: (tlvs: Buffer) => Buffer | undefined): TlvReader | undefined {
  if (type === undefined) return undefined;
  return (tlvs) => {
    const outer = within(tlvs);
    return outer && valueOf(outer, type)?.latin1Slice();
  };
}

/** By name, or as `0x` and a byte in hexadecimal digits. */
function typeOf(name: string, names: Readonly<Record<string, number>>): number | undefined {
  if (/^0x0*[0-9a-f]{1,2}$/.test(name)) return Number(name);
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

/** Zero: the client showed a certificate that was verified. */
function verifyResult(tlvs: Buffer): string | undefined {
  const ssl = valueOf(tlvs, TYPES['ssl'] as number);
  return ssl === undefined || ssl.length < SSL_FIXED ? undefined : String(ssl.readUInt32BE(1));
}

function valueOf(tlvs: Buffer, type: number): Buffer | undefined {
  for (let at = 0; at + HEAD <= tlvs.length;) {
    const end = at + HEAD + tlvs.readUInt16BE(at + 1);
    if (end > tlvs.length) return undefined;
    if (tlvs[at] === type) return tlvs.subarray(at + HEAD, end);
    at = end;
  }
  return undefined;
}
