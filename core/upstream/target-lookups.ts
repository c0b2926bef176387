import type { ErrorCollector } from '../config/error-collector.js';
import { parseAddress, AddressError } from '../contract/address.js';
import { ArgError } from '../contract/spec.js';
import type { NameResolver } from '../net/dns/resolution.js';
import type { Upstream } from './upstream.js';

/** Where upstreams come from: the upstream current blocks, and single addresses that no block names. */
export interface TargetSource {
  /** The upstream of an `upstream` block, of the configuration being prepared while one is. */
  find(name: string): Upstream | undefined;
  /** The upstream of an `upstream` block that traffic may go to now. */
  inForce(name: string): Upstream | undefined;
  /** The upstream of one address; names are resolved. Rejects with ArgError. */
  implicit(host: string, port: number): Promise<Upstream>;
  /** The same for a target that a session names. @throws (or rejects) Error whose message is the line of the error log */
  forRequest(host: string, port: number, resolver: NameResolver | undefined): Upstream | Promise<Upstream>;
}

/** A target that the configuration names, and the upstream that it stands for once that is known. */
export interface LookupTarget {
  upstream: Upstream | undefined;
}

/** Finds what constant targets of a configuration stand for, and collects what has to be resolved while it is prepared. */
export class TargetLookups {
  /** Called with the names that targets have: the compiled result depends on whether an upstream has them. */
  onUse: (name: string) => void = () => undefined;
  #lookups: Promise<void>[] = [];

  constructor(private readonly source: TargetSource) {}

  /** @param fail rejects the configuration where the target is named */
  find(text: string, fail: (message: string, hint?: string) => never): LookupTarget {
    const target: LookupTarget = { upstream: undefined };
    for (const name of namesIn(text)) this.onUse(name);
    target.upstream = this.source.find(text);
    if (target.upstream !== undefined) return target;
    const lookup = this.#lookUp(text, target, fail);
    // Errors are collected when all are compiled, which may be long after the name turned out to be unknown.
    lookup.catch(() => undefined);
    this.#lookups.push(lookup);
    return target;
  }

  /**
   * Target of a session by its text: without a promise, unless a name has to be looked up.
   * @throws (or rejects) Error whose message is the line of the error log
   */
  findNow(text: string, resolver: NameResolver | undefined): Upstream | Promise<Upstream> {
    const upstream = this.source.inForce(text);
    if (upstream !== undefined) return upstream;
    const { host, port } = splitTarget(text);
    return this.source.forRequest(host, port, resolver);
  }

  /** True if the change that is being prepared gives a name another meaning. */
  isChanging(name: string): boolean {
    try {
      return this.source.find(name) !== this.source.inForce(name);
    } catch {
      // It is rejected: its user reports that as well.
      return true;
    }
  }

  /** Resolves when all names of the targets found since the last call were looked up. */
  async settle(errors: ErrorCollector): Promise<void> {
    const lookups = this.#lookups;
    this.#lookups = [];
    for (const result of await Promise.allSettled(lookups)) if (result.status === 'rejected') errors.add(result.reason);
  }

  async #lookUp(text: string, target: LookupTarget, fail: (message: string, hint?: string) => never): Promise<void> {
    try {
      const { host, port } = splitTarget(text);
      if (this.source.find(host) !== undefined)
        throw new ArgError(`upstream "${host}" may not have port ${port}`, 'its servers have theirs');
      target.upstream = await this.source.implicit(host, port);
    } catch (error) {
      if (error instanceof ArgError) fail(error.message, error.hint);
      throw error;
    }
  }
}

/** @throws ArgError `no port in upstream "x"` */
function splitTarget(text: string): { host: string; port: number } {
  try {
    const parsed = parseAddress(text, undefined);
    if ('name' in parsed) return { host: parsed.name, port: parsed.port };
    return 'path' in parsed.address ? { host: `unix:${parsed.address.path}`, port: 0 } : parsed.address;
  } catch (error) {
    if (error instanceof AddressError) throw new ArgError(error.message);
    throw error;
  }
}

/** The names that a target may stand for: an upstream of that name, or of its host. */
function namesIn(text: string): readonly string[] {
  const [host = ''] = text.split(':', 1);
  return host === text || text.startsWith('[') ? [text] : [text, host];
}
