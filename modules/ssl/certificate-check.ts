import type { KeyObject, X509Certificate } from 'node:crypto';
import { certificatesIn, keyKindOf, type KeyKind } from '../../core/contract/certificates.js';
import { ApiError } from '../../core/contract/control.js';

/** A certificate as a call sends it. */
export interface CertificateInfo {
  readonly cert_type?: KeyKind;
  /** PEM, with or without `data:` in front. */
  readonly certificate?: string;
  readonly certificateKey?: string;
}

/** A chain and its key in PEM, which fit each other. */
export interface CheckedCertificate {
  readonly kind: KeyKind;
  readonly chain: string;
  readonly key: string;
}

interface Problem {
  readonly pointer: string;
  readonly message: string;
}

const POINTER = '/cert_info';

/**
 * @param now epoch milliseconds
 * @throws ApiError 400 `InvalidField` for what is missing; 400 `CertificateInvalid` with every reason why clients could not use it
 */
export function checkedCertificate(
  { cert_type: kind, certificate = '', certificateKey = '' }: CertificateInfo,
  now: number,
): CheckedCertificate {
  const [chain, key] = [pemOf(certificate), pemOf(certificateKey)];
  const missing = Object.entries({ cert_type: kind, certificate: chain, certificateKey: key }).filter(([, value]) => !value);
  if (kind === undefined || missing.length > 0) {
    const problems = missing.map(([name]) => problem(name, 'is required'));
    throw new ApiError(400, 'InvalidField', textOf(problems), problems);
  }
  const [first, ...others] = parsed(chain);
  if (first instanceof Error || first === undefined) throw invalid([problem('certificate', first?.message ?? 'has no certificate in PEM')]);
  const problems = [
    ...chainProblems(others),
    ...timeProblems(first, now),
    ...kindProblems(first, kind),
    ...keyProblems(first, parsedKey(key)),
  ];
  if (problems.length > 0) throw invalid(problems);
  return { kind, chain: `${chain}\n`, key: `${key}\n` };
}

const pemOf = (text: string): string => text.replace(/^data:/, '').trim();

const problem = (field: string, message: string): Problem => ({ pointer: `${POINTER}/${field}`, message });

const textOf = (problems: readonly Problem[]): string => problems.map(({ pointer, message }) => `${pointer}: ${message}`).join('; ');

const invalid = (problems: readonly Problem[]): ApiError => new ApiError(400, 'CertificateInvalid', textOf(problems), problems);

/** An unreadable text gives the error of OpenSSL, which quotes nothing of it. */
function parsed(chain: string): readonly (X509Certificate | Error)[] {
  try {
    return certificatesIn(chain);
  } catch {
    return [new Error('has a certificate that cannot be read')];
  }
}

function parsedKey(key: string): KeyObject | Error {
  const isEncrypted = key.includes('ENCRYPTED');
  try {
    return process.getBuiltinModule('node:crypto').createPrivateKey(key);
  } catch {
    return new Error(isEncrypted ? 'is encrypted: send it without a passphrase' : 'is not a private key in PEM');
  }
}

function chainProblems(others: readonly (X509Certificate | Error)[]): Problem[] {
  return others.some((one) => one instanceof Error) ? [problem('certificate', 'has a certificate that cannot be read')] : [];
}

function timeProblems({ validFromDate, validToDate }: X509Certificate, now: number): Problem[] {
  if (validToDate.getTime() <= now) return [problem('certificate', `has expired (${validToDate.toISOString()})`)];
  return validFromDate.getTime() > now ? [problem('certificate', `is not valid yet (${validFromDate.toISOString()})`)] : [];
}

function kindProblems(first: X509Certificate, kind: KeyKind): Problem[] {
  const actual = keyKindOf(first);
  if (actual === kind) return [];
  return [problem('cert_type', `must be ${actual ?? 'rsa or ecc, and the certificate of such a key'}`)];
}

function keyProblems(first: X509Certificate, key: KeyObject | Error): Problem[] {
  if (key instanceof Error) return [problem('certificateKey', key.message)];
  return first.checkPrivateKey(key) ? [] : [problem('certificateKey', 'does not fit the first certificate of the chain')];
}
