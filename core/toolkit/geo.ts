/** The directive `geo`, for the modules of every traffic engine that has it: variables that depend on addresses. */
import { optional, variableName } from '../contract/args.js';
import { readGeoBlock, type GeoBlock } from './geo-block.js';
import type { GeoTable } from './geo-table.js';
import type { DefinitionContext } from '../contract/manifest.js';
import { oncePerRequest } from './once-per-request.js';
import type { RequestState } from './request-state.js';
import { directive } from '../contract/spec.js';
import type { Getter } from '../contract/template.js';
import type { Directive } from '../contract/tree.js';

/** How addresses are found in the requests of a traffic engine. */
export interface GeoSource<R> {
  /** The client's address, where a block names no other text. */
  readonly client: (request: R) => string;
  /**
   * The address behind trusted proxies, for blocks that name some.
   * @param address that which is looked up otherwise
   */
  readonly behindProxies?: (request: R, address: string, block: GeoBlock) => string;
}

/**
 * @param engine the block of the traffic engine
 * @param more what else its blocks may hold, for the docs
 */
export function geoDirectives<const E extends string>(engine: E, more = '') {
  return {
    geo: directive({
      in: [engine],
      args: { first: { ...variableName(), form: '[$address]' }, second: { ...optional(variableName()), form: '$variable' } },
      block: 'entries',
      many: true,
      inherit: 'none',
      identity: ({ args }) => args.map(({ text }) => text).join(' '),
      defines: ({ args }) => {
        const name = args.at(-1)?.text ?? '';
        return name.startsWith('$') ? [name.slice(1)] : [];
      },
      doc: `Defines a variable whose value depends on the network of an address, by default the client's: the most specific network decides. Entries of the block are networks (CIDR, or first-last after ranges) and values; default is the value for all other addresses (without it empty), delete removes a network, include reads entries from a file${more}.`,
    }),
  };
}

/** The variable of a `geo`; undefined for any other directive. An invalid entry rejects the configuration there. */
export function geoVariables<R extends RequestState>(
  line: Directive,
  context: DefinitionContext<R>,
  { client, behindProxies }: GeoSource<R>,
): Readonly<Record<string, Getter<R>>> | undefined {
  const variable = line.args.at(-1);
  if (line.name !== 'geo' || variable === undefined) return undefined;
  const source = line.args.length > 1 ? context.template(line.args[0]?.text ?? '') : undefined;
  const block = readGeoBlock(line.block ?? [], context, behindProxies !== undefined);
  const addressOf = source === undefined ? client : (request: R): string => source.of(request);
  const read =
    behindProxies === undefined || block.isProxy === undefined
      ? lookup(block.table, addressOf)
      : lookup(block.table, (request: R) => behindProxies(request, addressOf(request), block));
  return { [variable.text.slice(1).toLowerCase()]: block.isVolatile ? read : oncePerRequest(read) };
}

function lookup<R>(table: GeoTable, addressOf: (request: R) => string): (request: R) => string {
  return (request) => table.find(addressOf(request));
}
