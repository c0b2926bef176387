/** The current upstreams for unit tests of actions. */
import type { Transactions } from '../core/contract/transactions.js';
import { Upstreams, type PeerView, type UpstreamView } from '../core/contract/upstreams.js';
import type { Directive } from '../core/contract/tree.js';
import { NO_FIGURES } from '../core/upstream/no-figures.js';

/** The `upstream` blocks of a configuration, with figures of the test. */
export class FakeUpstreams extends Upstreams {
  /** By name of the member as it is written: state and figures that are not zero. */
  readonly figures = new Map<string, Partial<PeerView>>();
  /** Names of upstreams whose statistics were reset. */
  readonly resets: string[] = [];

  /** @param transactions the configuration, see {@link FakeTransactions} */
  constructor(
    private readonly transactions: Pick<Transactions, 'tree'>,
    private readonly engine: 'http' | 'stream' = 'http',
  ) {
    super();
  }

  get(name: string): UpstreamView | undefined {
    return this.all().find((upstream) => upstream.name.toLowerCase() === name.toLowerCase());
  }

  all(): UpstreamView[] {
    const engines = [...this.transactions.tree.named(this.engine)];
    return engines.flatMap(({ block }) => Array.from(block?.named('upstream') ?? [], (directive) => this.#view(directive)));
  }

  #view(directive: Directive): UpstreamView {
    const name = directive.args[0]?.text ?? '';
    const [zone] = directive.block?.named('zone') ?? [];
    const peers = Array.from(directive.block?.named('server') ?? [], (line) => this.#peer(line));
    return {
      name,
      directive,
      zone: zone?.args[0]?.text,
      keepalive: 0,
      zombies: 0,
      queue: undefined,
      peers,
      size: peers.length,
      peer: (id) => peers.find((peer) => peer.id === id),
      addresses: () => undefined,
      resetStatistics: () => void this.resets.push(name),
    };
  }

  #peer(directive: Directive): PeerView {
    const [name = '', ...words] = directive.args.map(({ text }) => text);
    const number = (word: string, otherwise: number): number => Number(parameter(words, word) ?? otherwise);
    return {
      id: directive.key ?? directive.id,
      server: /:\d+$|^unix:/.test(name) ? name : `${name}:80`,
      name,
      directive,
      backup: words.includes('backup'),
      weight: number('weight', 1),
      maxConns: number('max_conns', 0),
      state: words.includes('down') ? 'down' : words.includes('drain') ? 'draining' : 'up',
      ...NO_FIGURES,
      ...this.figures.get(name),
    };
  }
}

function parameter(words: readonly string[], name: string): string | undefined {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}
