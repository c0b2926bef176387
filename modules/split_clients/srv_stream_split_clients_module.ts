import { streamModule, type DefinitionContext } from '../../core/contract/manifest.js';
import { splitClientsDirectives, splitClientsVariables } from '../../core/toolkit/split-clients.js';
import type { StreamVariable, StreamSession } from '../../core/contract/stream.js';
import type { Directive } from '../../core/contract/tree.js';

/** Variables that split connections into groups of given sizes (ngx_stream_split_clients_module). */
@streamModule({ name: 'srv_stream_split_clients_module', api: 1, directives: splitClientsDirectives('stream') })
export class StreamSplitClients {
  compileVariables(line: Directive, context: DefinitionContext<StreamSession>): Readonly<Record<string, StreamVariable>> | undefined {
    return splitClientsVariables(line, context);
  }
}
