import { geoDirectives, geoVariables, type GeoSource } from '../../core/toolkit/geo.js';
import { streamModule, type DefinitionContext } from '../../core/contract/manifest.js';
import type { StreamVariable, StreamSession } from '../../core/contract/stream.js';
import type { Directive } from '../../core/contract/tree.js';

const SOURCE: GeoSource<StreamSession> = { client: ({ connection }) => connection.remoteAddress };

/** Variables of connections that depend on addresses (ngx_stream_geo_module). */
@streamModule({ name: 'srv_stream_geo_module', api: 1, directives: geoDirectives('stream') })
export class StreamGeo {
  compileVariables(line: Directive, context: DefinitionContext<StreamSession>): Readonly<Record<string, StreamVariable>> | undefined {
    return geoVariables(line, context, SOURCE);
  }
}
