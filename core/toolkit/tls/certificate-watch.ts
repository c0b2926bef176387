import type { X509Certificate } from 'node:crypto';
import { certificatesIn } from '../../contract/certificates.js';
import type { Events } from '../../contract/events.js';

const DAY = 86_400_000;
const TYPE = 'certificate.expiring';

/** The certificates of one server. */
export interface WatchedCertificates {
  /** Names of the server. */
  readonly names: readonly string[];
  /** Chains in PEM. */
  readonly chains: readonly Buffer[];
  /** Milliseconds before the end at which it is reported; 0: never. */
  readonly warning: number;
}

/** Reports current certificates that expire soon: when they take effect, and once a day. */
export class CertificateWatch {
  /** Current certificates, and when they were checked (epoch milliseconds); 0: not yet. */
  readonly #served = new Map<WatchedCertificates, number>();
  /** Reported certificates, and their state then. */
  readonly #told = new Map<WatchedCertificates, readonly string[]>();

  constructor(private readonly events: Events) {}

  add(served: WatchedCertificates): void {
    this.#served.set(served, 0);
  }

  /** It is not active any more. */
  delete(served: WatchedCertificates): void {
    this.#served.delete(served);
    const subject = this.#told.get(served);
    this.#told.delete(served);
    // After a reload the same ones may be active again.
    if (subject !== undefined && ![...this.#told.values()].some((other) => isSame(other, subject))) this.events.forget(TYPE, subject);
  }

  /** Checks certificates that were not checked for a day. */
  check(now = Date.now()): void {
    for (const [served, checkedAt] of this.#served) {
      if (now - checkedAt < DAY) continue;
      this.#served.set(served, now);
      this.#tell(served, now);
    }
  }

  #tell(served: WatchedCertificates, now: number): void {
    const first = served.warning === 0 ? undefined : firstToEnd(served.chains);
    const ends = first?.validToDate.getTime() ?? Infinity;
    if (first === undefined || ends - now > served.warning) return;
    const data = {
      server_names: served.names.slice(0, 100),
      subject: first.subject,
      fingerprint: first.fingerprint256,
      not_after: first.validToDate.toISOString(),
      days_left: Math.floor((ends - now) / DAY),
      expired: ends <= now,
    };
    const subject = [served.names[0] ?? '', first.fingerprint256.replaceAll(':', '').toLowerCase()];
    this.#told.set(served, subject);
    this.events.publish(TYPE, data, subject);
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.every((part, at) => part === other[at]);
}

/** The certificate of the chains, those of authorities included, that is valid for the shortest time. */
function firstToEnd(chains: readonly Buffer[]): X509Certificate | undefined {
  const all = chains.flatMap((chain) => certificatesIn(chain.toString('latin1')));
  return all.toSorted((a, b) => a.validToDate.getTime() - b.validToDate.getTime())[0];
}
