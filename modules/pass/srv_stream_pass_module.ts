import { AddressError, parseAddress, type Address, type ParsedAddress } from '../../core/contract/address.js';
import { template } from '../../core/contract/args.js';
import { streamModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import {
  STREAM_INTERNAL_ERROR,
  type StreamHandlers,
  type StreamResult,
  type StreamScope,
  type StreamSession,
  type StreamTemplate,
} from '../../core/contract/stream.js';

const HINT = 'it is an address of this server: 127.0.0.1:8000, [::1]:8000 or unix:/path';
/** Of an address without one: no listener has it. */
const NO_PORT = 0;

function parsed(text: string): { readonly address: Address } {
  let found: ParsedAddress | undefined;
  try {
    found = parseAddress(Buffer.from(text, 'latin1').toString(), NO_PORT);
  } catch (error) {
    if (!(error instanceof AddressError) || error.reason !== 'invalid host') throw error;
  }
  // Names are not looked up.
  if (found === undefined || 'name' in found) throw new AddressError('no addresses', text);
  return found;
}

/** @param text as a string of bytes. @throws AddressError */
function addressOf(text: string): Address {
  const { address } = parsed(text);
  if ('port' in address && address.port === NO_PORT) throw new AddressError('no port', text);
  return address;
}

/** An address that is known beforehand is checked beforehand. */
function target(): ArgType<StreamTemplate, string> {
  const type = template<StreamSession>('address');
  return {
    ...type,
    parse(text, context) {
      const value = type.parse(text, context);
      if (value.constant !== undefined) assertAddress(value.constant);
      return value;
    },
  };
}

function assertAddress(text: string): void {
  try {
    addressOf(text);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    const { reason } = error;
    const message = /^no (?:addresses|port)$/.test(reason)
      ? `"pass" directive has ${reason}`
      : `${reason} in "${text}" of the "pass" directive`;
    throw new ArgError(message, HINT);
  }
}

const directives = {
  pass: directive({
    in: ['stream server'],
    args: target(),
    inherit: 'none',
    doc: 'Passes connections to the server that listens on an address, of http or of stream, without connecting to it. The address may have variables.',
  }),
};

/** Passes connections to other servers of this process (ngx_stream_pass_module). */
@streamModule({ name: 'srv_stream_pass_module', api: 1, directives })
export class StreamPass {
  constructor(private readonly log: Log) {}

  compile({ conf, args }: StreamScope<typeof directives>): StreamHandlers | undefined {
    const text = conf.pass;
    if (text === undefined) return undefined;
    const resolved = (address: Address): Address => ('path' in address ? { path: args.path(address.path) } : address);
    if (text.constant === undefined) return { content: (session) => this.#passTo(session, text.of(session), resolved) };
    const address = resolved(addressOf(text.constant));
    return { content: (session) => session.pass(address) };
  }

  #passTo(session: StreamSession, text: string, resolved: (address: Address) => Address): StreamResult {
    try {
      return session.pass(resolved(addressOf(text)));
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      this.log.write('error', `${error.reason} in pass "${text}"`, session);
      return STREAM_INTERNAL_ERROR;
    }
  }
}
