import type { SecureContext } from 'node:tls';
import { nodeTls } from './node-tls.js';
import { contextWithSilentAuthorities } from './silent-authorities.js';
import { keysOfNode, useTicketKeys } from './ticket-keys.js';
import { commanded } from '../toolkit/tls/conf-commands.js';
import type { TlsContext, TlsContextOptions } from './transport/tls.js';

/** Settings whose object of Node.js is made when it is first needed. */
export class NodeContext implements TlsContext {
  #made: SecureContext | undefined = undefined;

  constructor(readonly options: TlsContextOptions) {}

  get node(): SecureContext {
    return (this.#made ??= contextOf(this.options));
  }
}

function contextOf({ trusted = [], formerTicketKeys = [], commands = [], ...settings }: TlsContextOptions): SecureContext {
  const { ticketKeys } = settings;
  const options = {
    ...settings,
    ...(commands.length > 0 && commanded(settings, commands)),
    ...(ticketKeys !== undefined && { ticketKeys: keysOfNode(ticketKeys) }),
  };
  const context = trusted.length > 0 ? contextWithSilentAuthorities(options, trusted) : nodeTls().createSecureContext(options);
  if (options.ticketKeys !== undefined && formerTicketKeys.length > 0)
    useTicketKeys(context, [options.ticketKeys, ...formerTicketKeys.map(keysOfNode)]);
  return context;
}
