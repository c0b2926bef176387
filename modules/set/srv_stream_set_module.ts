import { template, variableName } from '../../core/contract/args.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { DECLINED, type StreamVariable, type StreamHandlers, type StreamScope, type StreamSession } from '../../core/contract/stream.js';
import type { Directive } from '../../core/contract/tree.js';

const directives = {
  set: directive({
    in: ['stream server'],
    args: { variable: variableName(), value: template<StreamSession>('value') },
    many: true,
    inherit: 'none',
    defines: ({ args }) => (args[0]?.text.startsWith('$') === true ? [args[0].text.slice(1)] : []),
    assigns: true,
    doc: 'Sets a variable when a connection is accepted.',
  }),
};

/** Sets variables of connections (ngx_stream_set_module). */
@streamModule({
  name: 'srv_stream_set_module',
  api: 1,
  directives,
  // As in nginx before limit_conn, whose keys may be made of them.
  phases: { preaccess: 10 },
})
export class StreamSet {
  compile({ conf: { set: lines } }: StreamScope<typeof directives>): StreamHandlers | undefined {
    if (lines.length === 0) return undefined;
    return {
      preaccess(session) {
        for (const { variable, value } of lines) session.assign(variable, value.of(session));
        return DECLINED;
      },
    };
  }

  /** The value before it is set. */
  compileVariables({ name, args }: Directive): Readonly<Record<string, StreamVariable>> | undefined {
    const variable = args[0]?.text.slice(1).toLowerCase();
    return name === 'set' && variable !== undefined ? { [variable]: () => '' } : undefined;
  }
}
