/**
 * A complete module: one directive, one header filter.
 *
 *     server_timing on;
 *
 * adds a `Server-Timing` field (W3C Server Timing) to every response, which the developer tools of browsers show:
 *
 *     Server-Timing: total;dur=12, upstream;dur=9
 *
 * Read it from top to bottom: first it declares, then it does. Then put your own in the place of both.
 */
import { flag } from 'srv/module/args.js';
import type { HttpHandlers, HttpRequest, Scope } from 'srv/module/http.js';
import { httpModule } from 'srv/module/manifest.js';
import { directive } from 'srv/module/spec.js';

/**
 * What may be written in a configuration. It is data: the checks of the parser, the hints of its errors, `srv -t`, the inheritance from
 * outer levels and changes by API all go by it, so there is none of that to write.
 */
const directives = {
  server_timing: directive({
    in: ['http', 'server', 'location'],
    args: flag(), // `on` or `off` in the text, a boolean in the code. See srv/module/args.js for the other kinds.
    default: 'off', // With a default the value is never undefined.
    doc: 'Adds the Server-Timing field to responses.',
  }),
};

/** The decorator makes the class a module. Its name is that of the file. */
@httpModule({ name: 'acme_http_server_timing_module', api: 1, directives })
export class ServerTiming {
  /**
   * Called for each location when the configuration changes, never for a request. `scope.conf` has the types of the specs above and the
   * values in force in this location.
   *
   * What it returns runs in the location. Where it returns nothing, the module costs nothing.
   */
  compile({ conf }: Scope<typeof directives>): HttpHandlers | undefined {
    return conf.server_timing ? { header: addServerTiming } : undefined;
  }
}

/**
 * A header filter: it runs for each response, just before its head is sent. What runs per request is synchronous and as short as it can be:
 * work that can be done once belongs into `compile`.
 */
function addServerTiming(request: HttpRequest): void {
  // The start of a request is read from a coarse clock, which may be a little off.
  const total = Math.max(Date.now() - request.startTime, 0);
  const upstream = upstreamMilliseconds(request);
  request.response.append('Server-Timing', `total;dur=${total}${upstream === undefined ? '' : `, upstream;dur=${upstream}`}`);
}

/** How long the upstream took until the head of its response was there. A variable of the configuration language is read by its name. */
function upstreamMilliseconds(request: HttpRequest): number | undefined {
  // Seconds, one value for each member that was tried: `0.012`, or `-, 0.012`. Undefined if the response is not an upstream's.
  const last = request.variable('upstream_header_time')?.split(', ').at(-1);
  return last === undefined || last === '-' ? undefined : Math.round(Number(last) * 1000);
}
