import type { TLSSocket } from 'node:tls';
import type { OtherSide, PresentedCertificate } from '../../tls.js';
import { depthOf } from './certificate-depth.js';
import { nodeTls } from './node-tls.js';
import { verificationNumber, verificationText } from './verification-errors.js';

const TOO_LONG = 'certificate chain too long';
/** Number of OpenSSL for {@link TOO_LONG} (openssl/x509_vfy.h). */
const TOO_LONG_NUMBER = 22;

/** Handle of Node beneath a TLSSocket: the only way to the result of a verification that ends no handshake (lib/_tls_wrap.js). */
interface NativeTls {
  verifyError(): (Error & { readonly code?: string }) | null | undefined;
}

/** The other side of a TLSSocket of Node.js whose handshake is over. */
export class NodeOtherSide implements OtherSide {
  constructor(
    private readonly socket: TLSSocket,
    /** Certificates that may be between its own and the authority. */
    private readonly longest: number,
  ) {}

  certificate(): PresentedCertificate | undefined {
    const certificate = this.socket.getPeerX509Certificate();
    if (certificate === undefined) return undefined;
    const { raw: bytes } = certificate;
    const error = this.#error;
    if (error !== undefined) return { bytes, error: withoutAdvice(error.message), errorNumber: verificationNumber(error.code ?? '') };
    return this.#isTooLong ? { bytes, error: TOO_LONG, errorNumber: TOO_LONG_NUMBER } : { bytes, error: undefined, errorNumber: 0 };
  }

  problem(): string | undefined {
    const error = this.#error;
    if (error !== undefined) return verificationText(error.code ?? '', error.message);
    return this.#isTooLong ? `${TOO_LONG_NUMBER}:${TOO_LONG}` : undefined;
  }

  isFor(name: string): boolean {
    return nodeTls().checkServerIdentity(name, this.socket.getPeerCertificate()) === undefined;
  }

  get #error(): (Error & { readonly code?: string }) | undefined {
    const { ssl } = this.socket as unknown as { readonly ssl: NativeTls };
    return ssl.verifyError() ?? undefined;
  }

  /** A session that is resumed has no chain: only those are kept whose chain was short enough. */
  get #isTooLong(): boolean {
    const { socket, longest } = this;
    return !socket.isSessionReused() && depthOf(socket.getPeerCertificate(true)) > longest;
  }
}

/** Node adds advice for its own users to what OpenSSL says. */
function withoutAdvice(error: string): string | undefined {
  return error.split(';', 1)[0];
}
