import { closeSync, fstatSync, openSync } from 'node:fs';
import { SocketAddress } from 'node:net';
import { assert, ipV4, ipV6, nat, oneof, property } from 'fast-check';
import test from 'ava';
import { addressBytes, pathBytes, readAddress } from '../../core/net/transport/epoll/addresses.js';
import { OpenDescriptors } from '../../core/net/transport/open-descriptors.js';
import type { AbandonedTls } from '../../core/net/transport/open-tls.js';

const open = (): number => openSync('/dev/null', 'r');

test('an address becomes what the system has, and back the text that Node.js writes', (t) => {
  assert(
    property(oneof(ipV4(), ipV6()), nat(65_535), (host, port) => {
      const bytes = addressBytes(host, port);
      const { address } = new SocketAddress({ address: host, family: host.includes(':') ? 'ipv6' : 'ipv4', port });
      t.deepEqual(bytes && readAddress(bytes), { address, port });
    }),
    {
      examples: [
        ['::ffff:1.2.3.4', 80],
        ['::', 0],
        ['1::', 1],
        ['::1', 65_535],
        ['0:0:1:0:0:0:1:0', 9],
      ],
    },
  );
});

test('names, zones and paths that are too long have no form of the system', (t) => {
  t.is(addressBytes('localhost', 80), undefined);
  t.is(addressBytes('fe80::1%lo', 80), undefined);
  t.is(pathBytes('/'.repeat(108)), undefined);
  t.is(pathBytes('/a')?.toString('latin1'), '\x01\0/a\0');
});

test('descriptors of a thread that has died are closed, and no others', (t) => {
  const table = new OpenDescriptors();
  const ofWorker = new OpenDescriptors(table.memory);
  const [lost, closed, other] = [open(), open(), open()];
  t.teardown(() => closeSync(other));
  ofWorker.add(lost);
  ofWorker.add(closed);
  ofWorker.delete(closed);
  closeSync(closed);
  // Beyond the first size of the table, and its last one.
  for (const number of [100_000, 10_000_000]) ofWorker.add(number);
  ofWorker.delete(100_000);
  ofWorker.tls.addConnection(lost, 7n);
  ofWorker.tls.addConnection(closed, 8n);
  ofWorker.tls.deleteConnection(closed);
  for (const context of [1n, 2n, 3n]) ofWorker.tls.addContext(context);
  ofWorker.tls.deleteContext(2n);
  ofWorker.tls.addContext(4n);
  const freed: AbandonedTls[] = [];
  t.is(
    table.closeAll((abandoned) => void freed.push(abandoned)),
    1,
  );
  t.deepEqual(freed, [{ connections: [7n], contexts: [1n, 4n, 3n] }]);
  t.throws(() => fstatSync(lost), { code: 'EBADF' });
  t.notThrows(() => fstatSync(other));
  t.is(
    table.closeAll((abandoned) => t.deepEqual(abandoned, { connections: [], contexts: [] })),
    0,
  );
});
