import type { EventMethod } from '../../contract/event-method.js';
import type { Log } from '../../contract/log.js';
import type { Clock } from '../clock.js';
import { EpollTransport } from './epoll/epoll-transport.js';
import { NodeTransport } from './node/node-transport.js';
import { OpenDescriptors } from './open-descriptors.js';
import { TransportFiles } from './transport-files.js';
import type { Transport } from './transport.js';

export { freeAbandoned } from './epoll/openssl/abandoned.js';
export { SystemTlsLibrary } from './epoll/openssl/system-tls-library.js';

/** The transports of one thread: one of them makes the connections to come, and those of another one that was chosen before live on. */
export class Transports implements EventMethod {
  current: Transport;
  readonly files: TransportFiles;
  readonly #node = new NodeTransport();
  /** A text: it is not possible. */
  #epoll: Transport | string | undefined = undefined;
  #announced: string | undefined = undefined;

  constructor(
    private readonly log: Log,
    private readonly open: OpenDescriptors,
    private readonly clock: Clock,
  ) {
    this.current = this.#node;
    this.files = new TransportFiles(this, open, clock);
  }

  get method(): string {
    return this.current.name;
  }

  get usesRing(): boolean {
    return this.current instanceof EpollTransport && this.current.usesRing;
  }

  get staleEvents(): number {
    return this.#epoll instanceof EpollTransport ? this.#epoll.staleEvents : 0;
  }

  /** @param method of the directive `use`; undefined: epoll where it is possible @param ring of the directive `io_uring` */
  choose(method: string | undefined, ring: boolean): void {
    if (method !== undefined && method !== 'epoll') this.current = this.#node;
    else {
      this.#epoll ??= EpollTransport.open(this.#node, this.open, this.log, this.clock);
      this.current = typeof this.#epoll === 'string' ? this.#node : this.#epoll;
      if (this.#epoll instanceof EpollTransport) this.#epoll.useRing(ring);
    }
  }

  /** Writes a choice that has taken effect to the log. @param method as for {@link choose} */
  announce(method: string | undefined): void {
    const { name } = this.current;
    if (name === this.#announced) return;
    this.#announced = name;
    const wantsEpoll = method === undefined || method === 'epoll';
    if (wantsEpoll && typeof this.#epoll === 'string')
      this.log.write('warn', `the event method "epoll" is not possible here, falling back to "node": ${this.#epoll}`);
    this.log.write('notice', `using the "${name}" event method`);
  }
}

/** The methods that `use` may name here, for people. */
export function possibleMethods(): string {
  const epoll = EpollTransport.open(new NodeTransport(), new OpenDescriptors());
  if (typeof epoll === 'string') return `node (epoll is not possible: ${epoll})`;
  epoll.useRing(true);
  return epoll.usesRing ? 'epoll (default, with io_uring), node' : 'epoll (default; io_uring is not possible), node';
}
