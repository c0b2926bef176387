import type { X509Certificate } from 'node:crypto';
import { certificatesIn } from '../../core/module/certificates.js';
import type { Events } from '../../core/module/events.js';

const DAY = 86_400_000;
const TYPE = 'certificate.expiring';

/** The certificates of one server. */
export interface ServedCertificates {
  /** Names of the server. */
  readonly names: readonly string[];
  /** Chains in PEM. */
  readonly chains: readonly Buffer[];
  /** Milliseconds before the end in which it is told of; 0: never. */
  readonly warning: number;
}

/** Tells of certificates in force whose time is over soon: when they come into force, and once a day. */
export class CertificateWatch {
  readonly #served = new Set<ServedCertificates>();
  /** Those that were told of as well as those that are fine; when they were looked at (epoch milliseconds). */
  readonly #checked = new Map<ServedCertificates, number>();

  constructor(private readonly events: Events) {}

  add(served: ServedCertificates): void {
    this.#served.add(served);
  }

  /** It is not in force any more. */
  delete(served: ServedCertificates): void {
    this.#served.delete(served);
    this.#checked.delete(served);
    // The server may have others now, and the same ones again after a reload.
    const subject = subjectOf(served);
    if (![...this.#served].some((other) => subjectOf(other)[0] === subject[0])) this.events.forget(TYPE, subject);
  }

  /** Looks at those that were not looked at for a day. */
  check(now = Date.now()): void {
    for (const served of this.#served) {
      if (now - (this.#checked.get(served) ?? 0) < DAY) continue;
      this.#checked.set(served, now);
      this.#tell(served, now);
    }
  }

  #tell(served: ServedCertificates, now: number): void {
    const subject = subjectOf(served);
    const first = firstToEnd(served.chains);
    if (served.warning === 0 || first === undefined) return;
    const ends = first.validToDate.getTime();
    if (ends - now > served.warning) return this.events.forget(TYPE, subject);
    const data = {
      server_names: served.names.slice(0, 100),
      subject: first.subject,
      fingerprint: first.fingerprint256,
      not_after: first.validToDate.toISOString(),
      days_left: Math.floor((ends - now) / DAY),
      expired: ends <= now,
    };
    this.events.publish(TYPE, data, subject);
  }
}

const subjectOf = ({ names }: ServedCertificates): readonly [string] => [names[0] ?? ''];

/** The certificate of the chains, those of authorities included, that is valid for the shortest time. */
function firstToEnd(chains: readonly Buffer[]): X509Certificate | undefined {
  const all = chains.flatMap((chain) => certificatesIn(chain.toString('latin1')));
  return all.toSorted((a, b) => a.validToDate.getTime() - b.validToDate.getTime())[0];
}
