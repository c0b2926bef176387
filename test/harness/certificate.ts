/** Self-signed certificates for tests, made here, so that no tool has to be installed and nothing expires in the repository. */
import { generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto';

export interface Certificate {
  /** PEM. */
  readonly key: string;
  /** PEM. It is its own authority: give it as `ca` to a client that is to trust it. */
  readonly cert: string;
}

/** Properties of an unusual certificate. */
export interface CertificateOptions {
  readonly kind?: 'rsa' | 'ec' | 'ed25519';
  /** Of an RSA key: 2048. */
  readonly bits?: number;
  /** Days from now on: when it begins and ends to be valid. */
  readonly days?: readonly [from: number, to: number];
  /** The authority that signs it, with a key of kind `ec`; absent: it does so itself. */
  readonly issuer?: Certificate;
  /** URL of a responder of OCSP (RFC 5280, 4.2.2.1). */
  readonly responder?: string;
}

/** A certificate for these host names, good for a day. The first name is its subject. */
export function selfSigned(...names: readonly [string, ...string[]]): Certificate {
  return certificateFor(names);
}

export function certificateFor(
  names: readonly [string, ...string[]],
  { kind = 'ec', bits = 2048, days = [-1, 1], issuer, responder }: CertificateOptions = {},
): Certificate {
  const { privateKey, publicKey } = keyPair(kind, bits);
  const algorithm = ALGORITHMS[issuer === undefined ? kind : 'ec'];
  const issuerName = issuer === undefined ? names[0] : commonNameOf(issuer);
  const body = tbsCertificate({ names, issuerName, key: publicKey, algorithm, days, responder });
  const signature = sign(kind === 'ed25519' && issuer === undefined ? null : 'sha256', body, issuer?.key ?? privateKey);
  const der = sequence(body, algorithm, bitString(signature));
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: pem('CERTIFICATE', der) };
}

/** A list in PEM (RFC 5280, 5.1) in which a self-signed certificate with a key `ec` revokes itself; without `revokes` it is empty. */
export function revocationList(certificate: Certificate, revokes = true): string {
  const { cert, key } = certificate;
  const { serialNumber } = new X509Certificate(cert);
  const entry = sequence(element(0x02, Buffer.from(serialNumber, 'hex')), utcTime(Date.now()));
  const body = sequence(
    element(0x02, Buffer.from([1])),
    ALGORITHMS.ec,
    nameOf(commonNameOf(certificate)),
    utcTime(Date.now() - DAY_MS),
    utcTime(Date.now() + DAY_MS),
    ...(revokes ? [sequence(entry)] : []),
  );
  return pem('X509 CRL', sequence(body, ALGORITHMS.ec, bitString(sign('sha256', body, key))));
}

const commonNameOf = ({ cert }: Certificate): string => new X509Certificate(cert).subject.replace('CN=', '');

function pem(label: string, der: Buffer): string {
  const base64 = (der.toString('base64').match(/.{1,64}/g) ?? []).join('\n');
  return `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`;
}

function nameOf(commonName: string): Buffer {
  return sequence(element(0x31, sequence(COMMON_NAME, element(0x0c, Buffer.from(commonName)))));
}

function keyPair(kind: 'rsa' | 'ec' | 'ed25519', bits: number): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  if (kind === 'rsa') return generateKeyPairSync('rsa', { modulusLength: bits });
  return kind === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' }) : generateKeyPairSync('ed25519');
}

/** One DER element: tag, length, content (X.690, 8.1). */
function element(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 128) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = content.length < 256 ? [0x81, content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, ...parts);
const bitString = (bits: Buffer): Buffer => element(0x03, Buffer.from([0]), bits);
const octets = (content: Buffer): Buffer => element(0x04, content);
const objectId = (hex: string): Buffer => element(0x06, Buffer.from(hex, 'hex'));

const ALGORITHMS = {
  ec: sequence(objectId('2a8648ce3d040302')),
  rsa: sequence(objectId('2a864886f70d01010b'), element(0x05)),
  ed25519: sequence(objectId('2b6570')),
};
const COMMON_NAME = objectId('550403');
const SUBJECT_ALT_NAME = objectId('551d11');
const BASIC_CONSTRAINTS = objectId('551d13');
const AUTHORITY_INFORMATION = objectId('2b06010505070101');
const OCSP = objectId('2b06010505073001');
const DAY_MS = 86_400_000;

interface Body {
  readonly names: readonly [string, ...string[]];
  readonly issuerName: string;
  readonly key: KeyObject;
  readonly algorithm: Buffer;
  readonly days: readonly [from: number, to: number];
  readonly responder: string | undefined;
}

/** The signed part (RFC 5280, 4.1). */
function tbsCertificate({ names, issuerName, key, algorithm, days: [from, to], responder }: Body): Buffer {
  const name = nameOf(names[0]);
  const validity = sequence(utcTime(Date.now() + from * DAY_MS), utcTime(Date.now() + to * DAY_MS));
  const version3 = element(0xa0, element(0x02, Buffer.from([2])));
  const serial = element(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)]));
  const alternatives = sequence(...names.map((dns) => element(0x82, Buffer.from(dns))));
  const authority = sequence(element(0x01, Buffer.from([0xff])));
  const extensions = element(
    0xa3,
    sequence(
      sequence(SUBJECT_ALT_NAME, octets(alternatives)),
      sequence(BASIC_CONSTRAINTS, octets(authority)),
      ...(responder === undefined
        ? []
        : [sequence(AUTHORITY_INFORMATION, octets(sequence(sequence(OCSP, element(0x86, Buffer.from(responder))))))]),
    ),
  );
  return sequence(version3, serial, algorithm, nameOf(issuerName), validity, name, key.export({ type: 'spki', format: 'der' }), extensions);
}

function utcTime(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replace(/\D/g, '').slice(2, 14);
  return element(0x17, Buffer.from(`${digits}Z`));
}
