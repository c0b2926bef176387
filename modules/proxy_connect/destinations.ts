import { plainAddress } from '../../core/contract/binary-address.js';
import { argType } from '../../core/contract/arg-type.js';
import { choice, rest } from '../../core/contract/args.js';
import { clients, type Clients } from '../../core/contract/network.js';
import { ArgError, directive } from '../../core/contract/spec.js';
import type { SpecialAddresses } from './special-addresses.js';

const network = clients({ all: true });

export const destinationDirective = directive({
  in: ['server'],
  args: {
    rule: choice('allow', 'deny'),
    networks: rest(
      argType<Clients>({
        kind: 'text',
        form: 'address | CIDR | all',
        parse(value, context, written) {
          if (value === 'unix:') throw new ArgError(`invalid parameter "${value}"`, 'an address, a network such as 10.0.0.0/8, or "all"');
          return network.parse(value, context, written);
        },
      }),
    ),
  },
  many: true,
  doc: 'Allows or denies addresses of servers; the first line that fits decides. Others are allowed unless they are of this machine, a private network, link-local or otherwise special. A name is checked by the addresses it has when the tunnel is opened.',
});

/** One line of `proxy_connect_destination`. */
interface DestinationRule {
  readonly rule: 'allow' | 'deny';
  readonly networks: readonly Clients[];
}

/** Says whether a tunnel may lead to an address. */
export class Destinations {
  constructor(
    private readonly rules: readonly DestinationRule[],
    private readonly special: SpecialAddresses,
  ) {}

  allows(address: string): boolean {
    const plain = plainAddress(address);
    for (const { rule, networks } of this.rules) if (networks.some((fits) => fits(plain))) return rule === 'allow';
    return !this.special.has(plain);
  }
}
