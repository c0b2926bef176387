import { streamModule, type DefinitionContext } from '../../core/contract/manifest.js';
import { mapDirectives, mapVariables } from '../../core/toolkit/map.js';
import type { StreamVariable, StreamSession } from '../../core/contract/stream.js';
import type { Directive } from '../../core/contract/tree.js';

/** Variables of connections that depend on others (ngx_stream_map_module). */
@streamModule({ name: 'srv_stream_map_module', api: 1, directives: mapDirectives('stream') })
export class StreamMap {
  compileVariables(line: Directive, context: DefinitionContext<StreamSession>): Readonly<Record<string, StreamVariable>> | undefined {
    return mapVariables(line, context);
  }
}
