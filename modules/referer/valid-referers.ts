import { HostMasks } from '../../core/toolkit/host-masks.js';
import { compilePattern } from '../../core/toolkit/pattern.js';
import { ArgError } from '../../core/contract/spec.js';

const SCHEME = /^https?:\/\//i;
/** A longer host is none. */
const LONGEST_HOST = 255;
/** Stars stand in front of the first dot or after the last one. */
const NAME = /^(?:\*?\.)?(?!\.)[^*]*?[^*.](?:\.\*)?$/;

/** The referers of one `valid_referers`. */
export class ValidReferers {
  #allowsNone = false;
  #allowsBlocked = false;
  /** With what the path has to begin; empty: with anything. */
  readonly #hosts = new HostMasks<string>();
  /** About the referer without its scheme. */
  readonly #patterns: RegExp[] = [];
  /** About the host: those of `server_names`. */
  readonly #hostPatterns: RegExp[] = [];

  /**
   * @param serverNames the words of `server_name`
   * @throws ArgError in nginx's wording
   */
  constructor(words: readonly string[], serverNames: readonly string[]) {
    let isEmpty = true;
    for (const word of words) {
      if (word === 'none') this.#allowsNone = true;
      else if (word === 'blocked') this.#allowsBlocked = true;
      else isEmpty = false;
      this.#add(word);
    }
    if (words.includes('server_names')) for (const name of serverNames) this.#addServerName(name);
    if (isEmpty)
      throw new ArgError('the "none" or "blocked" referers are specified in the "valid_referers" directive without any valid referer');
  }

  areValid(referer: string | undefined): boolean {
    if (referer === undefined) return this.#allowsNone;
    const scheme = SCHEME.exec(referer)?.[0];
    if (scheme === undefined || referer.length === scheme.length || referer[scheme.length] === '/') return this.#allowsBlocked;
    const target = referer.slice(scheme.length);
    const [host = ''] = target.split(/[/:]/, 1);
    if (host.length > LONGEST_HOST) return false;
    const name = host.toLowerCase();
    if (this.#hostPatterns.some((pattern) => pattern.test(name))) return true;
    const path = this.#hosts.find(name);
    if (path !== undefined) return path === '' || pathOf(target).startsWith(path);
    return this.#patterns.some((pattern) => pattern.test(target));
  }

  #add(word: string): void {
    if (word === 'none' || word === 'blocked' || word === 'server_names') return;
    if (word === '') throw new ArgError('invalid referer ""');
    if (word.startsWith('~')) this.#patterns.push(patternOf(word));
    else {
      const slash = word.indexOf('/');
      this.#addHost(slash < 0 ? word : word.slice(0, slash), slash < 0 ? '' : word.slice(slash));
    }
  }

  #addServerName(name: string): void {
    if (name.startsWith('~')) this.#hostPatterns.push(compilePattern(name.slice(1), true));
    else if (name !== '') this.#addHost(name, '');
  }

  #addHost(host: string, path: string): void {
    if (!NAME.test(host) || host.includes('..') || host.split('*').length > 2)
      throw new ArgError(`invalid hostname or wildcard "${host}"`, 'a name, or a mask: *.example.com, www.example.*');
    if (!this.#hosts.add(host.toLowerCase(), Buffer.from(path).latin1Slice())) throw new ArgError(`conflicting parameter "${host}"`);
  }
}

function patternOf(word: string): RegExp {
  if (word === '~') throw new ArgError('empty regex in "~"', 'the expression follows the "~"');
  return compilePattern(word.slice(1), true);
}

/** Part after the host and its port. */
function pathOf(target: string): string {
  const slash = target.indexOf('/');
  return slash < 0 ? '' : target.slice(slash);
}
