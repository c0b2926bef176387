import { ownDirective } from '../../config/conf.js';
import { errorAt } from '../../config/errors.js';
import type { ParsedAddress } from '../../contract/address.js';
import type { Tree } from '../../config/tree.js';
import type { Change } from '../../config/change.js';
import type { Directive } from '../../contract/tree.js';
import type { ServerLine } from '../../toolkit/upstream.js';
import { DirectiveCodec, readPlain } from '../../contract/directive-codec.js';
import { resolverDirectives, resolverSettings, type ResolverSettings } from '../../toolkit/resolver.js';
import { ArgError } from '../../contract/spec.js';

const directives = resolverDirectives(['upstream']);
const resolverLines = new DirectiveCodec('resolver', directives.resolver);
/** Default of `resolver_timeout`. Milliseconds. */
const TIMEOUT = 30_000;

/** Query of a `server` line with `resolve`. */
export interface NameQuery {
  /** `services`: SRV records. `source`: not name servers are asked, but a module. */
  readonly kind: 'addresses' | 'services' | 'source';
  /** In lower case; of a source the text of `members_from`. */
  readonly name: string;
  /** Of the addresses; SRV records have their own. */
  readonly port: number;
}

/** The name servers of an upstream, and how they are asked. Equal keys mean the same. */
export interface ResolverChoice {
  readonly key: string;
  readonly settings: ResolverSettings;
  /** Milliseconds. */
  readonly timeout: number;
}

/**
 * Query of a `server` line, undefined for one with fixed addresses.
 * @throws ConfigError in nginx's words
 */
export function queryOf(
  directive: Directive,
  { server, service, resolve, members_from: source }: ServerLine,
  target: ParsedAddress,
): NameQuery | undefined {
  const [name] = directive.args;
  if (source !== '') return sourceQuery(directive, source, resolve || service !== '', target);
  if (service !== '') {
    if (!resolve) throw errorAt(directive, `service upstream "${server}" requires "resolve" parameter`, name);
    if ('address' in target) throw errorAt(directive, `service upstream "${server}" requires domain name`, name);
    if (server.includes(':'))
      throw errorAt(directive, `service upstream "${server}" may not have port`, name, 'SRV records have the ports');
    return { kind: 'services', name: serviceName(service.toLowerCase(), withoutDot(target.name)), port: 0 };
  }
  return resolve && 'name' in target ? { kind: 'addresses', name: withoutDot(target.name), port: target.port } : undefined;
}

/** @throws ConfigError */
function sourceQuery(directive: Directive, source: string, isResolved: boolean, target: ParsedAddress): NameQuery {
  const [name] = directive.args;
  if (isResolved) throw errorAt(directive, '"members_from" and "resolve" are mutually exclusive', name, 'remove one of them');
  if ('address' in target)
    throw errorAt(
      directive,
      '"members_from" requires a name',
      name,
      'the name stands for all servers of the source: server edge members_from=…;',
    );
  return { kind: 'source', name: source, port: 0 };
}

const withoutDot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name);

/**
 * The name of SRV records (nginx: `service`): without a dot it is the name of a service over TCP (RFC 2782), else it is put in front of the
 * name of the host.
 */
function serviceName(service: string, host: string): string {
  return service.includes('.') ? `${service}.${host}` : `_${service}._tcp.${host}`;
}

/**
 * The resolver of an upstream: its own, or that of the block around it.
 * @param around `http` or `stream`
 * @returns undefined where there is none
 */
export function resolverOf(upstream: Directive, around: Directive | undefined): ResolverChoice | undefined {
  const line = lineOf('resolver', upstream, around);
  if (line === undefined) return undefined;
  const timeoutLine = lineOf('resolver_timeout', upstream, around);
  const timeout = timeoutLine === undefined ? TIMEOUT : Number(readPlain(directives.resolver_timeout, timeoutLine));
  const key = [...line.args.map(({ text }) => text), `timeout=${timeout}`].join(' ');
  return { key, settings: resolverSettings(resolverLines.read(line)), timeout };
}

/** @throws ConfigError where an upstream cannot have servers with `members_from` */
export function assertShared(upstream: Directive, hasZone: boolean): void {
  const name = upstream.args[0]?.text ?? '';
  if (hasZone) return;
  const message = `"members_from" requires upstream "${name}" to be in shared memory`;
  throw errorAt(upstream, message, upstream.args[0], `add a zone: zone ${name} 64k;`);
}

/** @throws ConfigError in nginx's words, where an upstream cannot have servers with `resolve` */
export function assertResolvable(upstream: Directive, around: Directive | undefined, hasZone: boolean): void {
  const name = upstream.args[0]?.text ?? '';
  if (!hasZone)
    throw errorAt(
      upstream,
      `resolving names at run time requires upstream "${name}" to be in shared memory`,
      upstream.args[0],
      `add a zone: zone ${name} 64k;`,
    );
  const line = lineOf('resolver', upstream, around);
  if (line !== undefined) return assertComplete(line);
  throw errorAt(
    upstream,
    `no resolver defined to resolve names at run time in upstream "${name}"`,
    upstream.args[0],
    'name a server: resolver 127.0.0.53;',
  );
}

/** @throws ConfigError */
function assertComplete(line: Directive): void {
  try {
    resolverSettings(resolverLines.read(line));
  } catch (error) {
    throw error instanceof ArgError ? errorAt(line, error.message, undefined, error.hint) : error;
  }
}

/** True if a block around upstreams has other name servers after a change. */
export function changesResolver({ before, after }: Pick<Change, 'before' | 'after'>): boolean {
  const [old, fresh] = [outerLines(before), outerLines(after)];
  return old.some((line, at) => line !== fresh[at]);
}

function outerLines({ root }: Tree): (Directive | undefined)[] {
  return ['http', 'stream'].flatMap((name) => {
    const [engine] = root.named(name);
    return ['resolver', 'resolver_timeout'].map((line) => engine?.block && ownDirective(engine.block, line));
  });
}

function lineOf(name: string, upstream: Directive, around: Directive | undefined): Directive | undefined {
  return (upstream.block && ownDirective(upstream.block, name)) ?? (around?.block && ownDirective(around.block, name));
}
