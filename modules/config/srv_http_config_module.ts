import { action, type ActionContext } from '../../core/contract/control.js';
import { ConfigurationHistory, type HistoryView } from '../../core/contract/history.js';
import { coreModule } from '../../core/contract/manifest.js';
import { shownTree } from '../../core/contract/print.js';
import { shownWord } from '../../core/contract/secrets.js';
import { Transactions } from '../../core/contract/transactions.js';
import type { Block } from '../../core/contract/tree.js';
import type { Versioned } from '../../core/contract/versioned.js';

/** A directive as JSON: the form that parsers of nginx configurations give. */
interface DirectiveJson {
  readonly directive: string;
  readonly args: readonly string[];
  readonly block?: readonly DirectiveJson[];
}

interface HistoryParams {
  /** The version that the page before ended with. */
  readonly after?: number;
  readonly limit: number;
}

/** The current configuration, the changes of the API, and rollback. Its actions are the meaning of the API; the control plane adds HTTP. */
@coreModule({ name: 'srv_http_config_module', api: 1, plane: 'data' })
export class ConfigurationActions {
  constructor(
    private readonly transactions: Transactions,
    private readonly history: ConfigurationHistory,
  ) {}

  @action('config.effective')
  effective({ asText }: { readonly asText: boolean }): Versioned {
    const { tree } = this.transactions;
    return this.#versioned(asText ? shownTree(tree) : blockJson(tree));
  }

  @action('config.drift')
  drift(): Versioned {
    return this.#versioned({ diff: this.history.drift() });
  }

  @action('config.save')
  async save(_: unknown, context: ActionContext): Promise<Versioned> {
    const { version, files, diff } = await this.history.save(context);
    return { value: { version, files }, version: String(version), diff };
  }

  @action('history.list')
  list({ after, limit }: HistoryParams): Versioned {
    const entries = this.history.entries({ ...(after !== undefined && { before: after }), limit: limit + 1 });
    const page = entries.slice(0, limit);
    const last = entries.length > limit ? page.at(-1) : undefined;
    return { ...this.#versioned(page.map(shown)), ...(last && { next: last.version }) };
  }

  @action('history.rollback', { transactional: true })
  async rollback({ version }: { readonly version: number }, context: ActionContext): Promise<Versioned> {
    const applied = await this.history.rollback(version, context);
    return { value: { version: applied.version }, version: String(applied.version), diff: applied.diff };
  }

  #versioned(value: unknown): Versioned {
    return { value, version: String(this.transactions.version), diff: [] };
  }
}

function shown({ version, at, node, origin, actor, message, changes, diff }: HistoryView): object {
  const what = origin === 'reload' ? { diff } : { changes: changes ?? null };
  return {
    version,
    at: new Date(at).toISOString(),
    node,
    origin,
    ...(actor !== '' && { actor }),
    ...(message !== '' && { message }),
    ...what,
  };
}

function blockJson(block: Block): DirectiveJson[] {
  return Array.from(block, ({ name, args, block: inner }) => ({
    directive: name,
    args: args.map(({ text }) => shownWord(name, text, args[0]!.text)),
    ...(inner && { block: blockJson(inner) }),
  }));
}
