import { DYNAMIC_CERTIFICATE, dynamicCertificate, ServedCertificates, type KeyKind } from '../../core/contract/certificates.js';
import { Families } from '../../core/contract/families.js';
import { action, ApiError, assertPreconditions, type ActionContext } from '../../core/contract/control.js';
import { coreModule } from '../../core/contract/manifest.js';
import { serverAt } from '../../core/toolkit/server-place.js';
import { Transactions, type Edit } from '../../core/contract/transactions.js';
import type { Directive, NewDirective } from '../../core/contract/tree.js';
import { DONE, type Versioned } from '../../core/contract/versioned.js';
import { VirtualServers, type VirtualServerView } from '../../core/contract/virtual-servers.js';
import { CertificateFamilies } from './certificate-families.js';
import { checkedCertificate, type CertificateInfo } from './certificate-check.js';
import { CertificateViews, type ShownServerCertificates } from './certificate-view.js';

interface ListParams {
  /** The id that the page before ended with. */
  readonly after?: number;
  readonly limit?: number;
}
interface ChangeParams {
  readonly type: 'add' | 'del';
  readonly listens: readonly string[];
  /** Each of them at each address; none: the default servers. */
  readonly serverNames?: readonly string[];
  readonly cert_info?: CertificateInfo;
}

/**
 * Certificates of servers, changed at run time. A certificate set by the API is a directive of its own, which replaces
 * those of the file; without it they apply again.
 */
@coreModule({ name: 'srv_http_dyn_ssl_module', api: '1.1', plane: 'data' })
export class DynamicCertificates {
  constructor(
    private readonly servers: VirtualServers,
    private readonly transactions: Transactions,
    private readonly certificates: ServedCertificates,
    private readonly families: Families,
  ) {}

  start(role: string): void {
    if (role === 'worker') return;
    const expiries = new CertificateFamilies(this.servers, this.certificates);
    this.families.provide(() => ({ families: expiries.families() }));
  }

  @action('ssl.list')
  list({ after = 0, limit = Infinity }: ListParams): Versioned<readonly ShownServerCertificates[]> {
    const all = [...this.servers.all()];
    const secure = new Set(all.flatMap(secureAddresses));
    const servers = all.filter(({ directive, addresses }) => directive.id > after && addresses.some((address) => secure.has(address)));
    const isPage = after > 0 || limit !== Infinity;
    // In pages they come in the order in which they were made, so that what comes or goes meanwhile moves nothing.
    const page = (isPage ? servers.toSorted((a, b) => a.directive.id - b.directive.id) : servers).slice(0, limit);
    const last = page.length < servers.length ? page.at(-1) : undefined;
    const views = new CertificateViews(Date.now());
    return {
      value: page.map((server) => views.server(server, this.certificates.of(server.directive))),
      version: String(this.transactions.version),
      diff: [],
      ...(last && { next: last.directive.id }),
    };
  }

  @action('ssl.change', { transactional: true })
  async change(params: ChangeParams, context: ActionContext): Promise<Versioned> {
    const change = this.transactions.apply(() => {
      assertPreconditions(context, () => String(this.transactions.version));
      const named = this.#named(params);
      if (params.type === 'add') this.#assertSecure(named);
      const servers = named.map(({ directive }) => directive);
      return params.type === 'add' ? additions(servers, params.cert_info ?? {}) : removals(servers, params.cert_info?.cert_type);
    }, context);
    const { version, diff } = await change.catch(rejectCertificate);
    return { value: DONE, version: String(version), diff };
  }

  /** Every server that a name has at an address. @throws ApiError 404, with all that are missing */
  #named({ listens, serverNames = [] }: ChangeParams): readonly VirtualServerView[] {
    const names = serverNames.length === 0 ? [undefined] : serverNames;
    const missing: ApiError[] = [];
    const found = listens.flatMap((address) =>
      names.flatMap((name) => {
        try {
          return [serverAt(this.servers, { addr_port: address, ...(name !== undefined && { server_name: name }) })];
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          missing.push(this.#withEngine(error, address));
          return [];
        }
      }),
    );
    const [first] = missing;
    if (first !== undefined)
      throw new ApiError(
        first.status,
        first.code,
        first.message,
        missing.map(({ message }) => ({ message })),
      );
    return [...new Map(found.map((server) => [server.directive.id, server])).values()];
  }

  /** An address without a server of `http` may be one of `stream`. */
  #withEngine(error: ApiError, address: string): ApiError {
    if (error.code !== 'ServerNotFound' || this.servers.at(address).length > 0) return error;
    return new ApiError(
      error.status,
      error.code,
      `${error.message}; servers of "stream" have their certificates in their body (/v1/stream_srv)`,
    );
  }

  /** @throws ApiError 400 when no client would see the certificate */
  #assertSecure(servers: readonly VirtualServerView[]): void {
    const plain = servers.filter((server) => secureAddresses(server).length === 0 && !server.addresses.some((one) => this.#isSecure(one)));
    if (plain.length === 0) return;
    const details = plain.map(({ addresses, names }) => {
      const message = `server "${names.join(' ')}" at "${addresses.join(' ')}" does not speak TLS: its "listen" needs "ssl"`;
      return { pointer: '/listens', message };
    });
    throw new ApiError(400, 'InvalidField', details.map(({ message }) => message).join('; '), details);
  }

  /** True if a server at an address says that TLS is spoken there. */
  #isSecure(address: string): boolean {
    return this.servers.at(address).some((server) => secureAddresses(server).includes(address));
  }
}

/** A certificate that OpenSSL rejects, such as one with a short key, is an error of the call: the previous certificate was in use. */
function rejectCertificate(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'ConfigError' || !error.message.startsWith('cannot use certificate')) throw error;
  const { message } = error;
  const pointer = '/cert_info/certificate';
  throw new ApiError(400, 'CertificateInvalid', `${pointer}: ${message}`, [{ pointer, message }]);
}

/** Addresses at which a server says that TLS is spoken; it is for all servers there. */
function secureAddresses({ directive, addresses }: VirtualServerView): readonly string[] {
  const lines = [...(directive.block?.named('listen') ?? [])];
  const isSecure = lines.map(({ args }) => args.some(({ text }) => text === 'ssl'));
  // A line may stand for several addresses.
  return lines.length === addresses.length ? addresses.filter((_, at) => isSecure[at]) : isSecure.includes(true) ? addresses : [];
}

function additions(servers: readonly Directive[], info: CertificateInfo): Edit[] {
  const { kind, chain, key } = checkedCertificate(info, Date.now());
  const text: NewDirective = dynamicCertificate(kind, chain, key);
  return servers.map((parent) => {
    const target = certificateOf(parent, kind);
    return target === undefined ? { op: 'add', parent, text } : { op: 'replace', target, text };
  });
}

/** @param kind undefined: of all kinds @throws ApiError 404 */
function removals(servers: readonly Directive[], kind: KeyKind | undefined): Edit[] {
  return servers.flatMap((server) => {
    const lines = [...(server.block?.named(DYNAMIC_CERTIFICATE) ?? [])];
    const targets = kind === undefined ? lines : lines.filter((line) => kindOf(line) === kind);
    if (targets.length === 0)
      throw new ApiError(
        404,
        'CertificateNotFound',
        `a server has no ${kind === undefined ? '' : `${kind} `}certificate that was set by API`,
      );
    return targets.map((target): Edit => ({ op: 'remove', target }));
  });
}

const kindOf = ({ args }: Directive): string | undefined => args[0]?.text;

function certificateOf({ block }: Directive, kind: KeyKind): Directive | undefined {
  for (const line of block?.named(DYNAMIC_CERTIFICATE) ?? []) if (kindOf(line) === kind) return line;
  return undefined;
}
