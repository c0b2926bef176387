import type { ExplainedServer } from '../../contract/explain.js';
import type { ServerFound } from '../../net/server-names.js';
import type { HttpListenGroup, VirtualServer } from '../site/virtual-server.js';
import { placeOf } from './place.js';
import { readable } from './readable.js';

/** Says why a server was found. @param host lower case, without port; empty: none was sent */
export function explainServer(
  host: string,
  { server, captures }: ServerFound<VirtualServer>,
  { lines, options, names }: HttpListenGroup,
): ExplainedServer {
  const { directive, name } = server;
  const written = Array.from(directive.block?.named('server_name') ?? []).flatMap(({ args }) => args.map(({ text }) => text));
  const isDefault = server === names.defaultServer;
  const reason = byName(host, server, captures) ?? withoutName(host, lines.length === 1, isDefault, options.address);
  return { name: readable(name), names: written, ...reason, ...placeOf(directive) };
}

type Reason = Pick<ExplainedServer, 'by' | 'why'>;

/** The order in which names are looked up: exact, longest leading wildcard, longest trailing wildcard, regular expression. */
function byName(host: string, { names }: VirtualServer, captures: RegExpExecArray | null | undefined): Reason | undefined {
  if (host === '') return undefined;
  if (names.some(({ kind, name }) => kind === 'exact' && name === host))
    return { by: 'exact', why: `its server_name is exactly "${host}"` };
  const leading = names.find(({ kind, name }) => kind === 'leading' && host.endsWith(`.${name}`));
  if (leading !== undefined)
    return { by: 'leading wildcard', why: `"${host}" fits "*.${leading.name}", and no server of this address has it as an exact name` };
  const trailing = names.find(({ kind, name }) => kind === 'trailing' && host.startsWith(`${name}.`));
  if (trailing !== undefined)
    return {
      by: 'trailing wildcard',
      why: `"${host}" fits "${trailing.name}.*", and no exact name or leading wildcard of this address does`,
    };
  const regex = names.find((name) => name.kind === 'regex' && (captures !== undefined || name.pattern.test(host)));
  if (regex === undefined) return undefined;
  return {
    by: 'regex',
    why: `"${host}" matches "${regex.name}", the first regular expression that does, and no other name of this address`,
  };
}

function withoutName(host: string, isOnly: boolean, isDefault: boolean, address: string): Reason {
  const asked = host === '' ? 'the request has no host' : `no server of ${address} has the name "${host}"`;
  if (isOnly) return { by: 'only', why: `${asked}, and it is the only server there` };
  return { by: 'default', why: isDefault ? `${asked}: it is the default server there` : asked };
}
