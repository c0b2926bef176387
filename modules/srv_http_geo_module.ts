import { optional, variableName } from '../core/module/args.js';
import type { HttpRequest, Template, VariableGetter } from '../core/module/http.js';
import { httpModule, type DefinitionContext } from '../core/module/manifest.js';
import { forwardedClient } from '../core/module/network.js';
import { oncePerRequest } from '../core/module/once-per-request.js';
import { directive } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';
import { readGeoBlock, type GeoBlock } from './srv_http_geo_module/geo-block.js';

const directives = {
  geo: directive({
    in: ['http'],
    args: { first: { ...variableName(), form: '[$address]' }, second: { ...optional(variableName()), form: '$variable' } },
    block: 'entries',
    many: true,
    inherit: 'none',
    identity: ({ args }) => args.map(({ text }) => text).join(' '),
    defines: ({ args }) => {
      const name = args.at(-1)?.text ?? '';
      return name.startsWith('$') ? [name.slice(1)] : [];
    },
    doc: "Defines a variable whose value depends on the network of an address, by default the client's: the most specific network decides. Entries of the block are networks (CIDR, or first-last after ranges) and values; default is the value for all other addresses (without it empty), delete removes a network, include reads entries from a file, proxy names networks whose X-Forwarded-For has the address, of which proxy_recursive takes the last that is not theirs.",
  }),
};

/** Variables that depend on addresses (ngx_http_geo_module). */
@httpModule({ name: 'srv_http_geo_module', api: 1, directives })
export class GeoVariables {
  compileVariables(line: Directive, context: DefinitionContext): Readonly<Record<string, VariableGetter>> | undefined {
    const variable = line.args.at(-1);
    if (line.name !== 'geo' || variable === undefined) return undefined;
    const source = line.args.length > 1 ? context.template(line.args[0]?.text ?? '') : undefined;
    const block = readGeoBlock(line.block ?? [], context);
    const read = lookup(block, source);
    return { [variable.text.slice(1).toLowerCase()]: block.isVolatile ? read : oncePerRequest(read) };
  }
}

function lookup({ table, isProxy, isRecursive }: GeoBlock, source: Template | undefined): (request: HttpRequest) => string {
  const addressOf = source === undefined ? (request: HttpRequest) => request.connection.remoteAddress : source.of.bind(source);
  if (isProxy === undefined) return (request) => table.find(addressOf(request));
  return (request) => {
    const address = addressOf(request);
    return table.find(forwardedClient(request.header('x-forwarded-for'), address, isProxy, isRecursive)?.address ?? address);
  };
}
