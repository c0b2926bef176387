import type { Log } from '../../contract/log.js';
import { EpollTransport } from './epoll/epoll-transport.js';
import { NodeTransport } from './node/node-transport.js';
import type { OpenDescriptors } from './open-descriptors.js';
import type { Transport } from './transport.js';

/** The transports of one thread: one of them makes the connections to come, and those of another one that was chosen before live on. */
export class Transports {
  current: Transport;
  readonly #node = new NodeTransport();
  #epoll: Transport | undefined = undefined;

  constructor(
    private readonly log: Log,
    private readonly open: OpenDescriptors,
  ) {
    this.current = this.#node;
  }

  /** @param method of the directive `use`; undefined: there is none */
  choose(method: string | undefined): void {
    const chosen = method === 'epoll' ? (this.#epoll ??= this.#openEpoll()) : this.#node;
    if (chosen !== this.current) this.log.write('notice', `using the "${chosen.name}" event method`);
    this.current = chosen;
  }

  #openEpoll(): Transport {
    const epoll = EpollTransport.open(this.#node, this.open);
    if (typeof epoll !== 'string') return epoll;
    this.log.write('warn', `"use epoll" is not possible here, "use node" takes effect: ${epoll}`);
    return this.#node;
  }
}
