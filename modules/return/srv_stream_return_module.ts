import { template } from '../../core/contract/args.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { STREAM_OK, type StreamHandlers, type StreamScope, type StreamSession } from '../../core/contract/stream.js';

const directives = {
  return: directive({
    in: ['stream server'],
    args: template<StreamSession>('value'),
    inherit: 'none',
    doc: 'Sends a text, which may have variables, and closes the connection.',
  }),
};

/** Sends a text to clients (ngx_stream_return_module). */
@streamModule({ name: 'srv_stream_return_module', api: 1, directives })
export class StreamReturn {
  compile({ conf: { return: text } }: StreamScope<typeof directives>): StreamHandlers | undefined {
    if (text === undefined) return undefined;
    return {
      content(session) {
        const value = text.of(session);
        // Over UDP an empty value would be an empty datagram.
        return value === '' ? STREAM_OK : session.send(value);
      },
    };
  }
}
