import test from 'ava';
import { array, assert, boolean, integer, property, record as records, uint8Array } from 'fast-check';
import { parseCgiHead } from '../../modules/fastcgi/cgi-head.js';
import { RecordReader } from '../../modules/fastcgi/records.js';
import { record } from '../harness/fastcgi-backend.js';

test('records are the same however their bytes are cut', (t) => {
  const recordsSent = array(
    records({ isError: boolean(), content: uint8Array({ maxLength: 40 }), padding: integer({ min: 0, max: 255 }) }),
  );
  assert(
    property(recordsSent, array(integer({ min: 1, max: 30 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(({ isError, content, padding }) => record(isError ? 7 : 6, Buffer.from(content), padding)));
      const found = { 6: '', 7: '' } as Record<number, string>;
      let ended = 0;
      const reader = new RecordReader({
        onContent: (type, piece, from, to) => (found[type] += piece.toString('hex', from, to)),
        onRecord: () => ended++,
        onMalformed: (text) => t.fail(text),
      });
      for (let at = 0, cut = 0; at < bytes.length; cut++) {
        const to = at + (cuts[cut % cuts.length] ?? 1);
        reader.read(bytes.subarray(at, to));
        at = to;
      }
      const of = (isError: boolean): string =>
        sent
          .filter((one) => one.isError === isError)
          .map(({ content }) => Buffer.from(content).toString('hex'))
          .join('');
      return found[6] === of(false) && found[7] === of(true) && ended === sent.length && reader.isBetweenRecords;
    }),
  );
  t.pass();
});

test('hostile bytes end in an error or in nothing', (t) => {
  assert(
    property(uint8Array({ maxLength: 300 }), (bytes) => {
      let failures = 0;
      const reader = new RecordReader({ onContent: () => undefined, onRecord: () => undefined, onMalformed: () => failures++ });
      reader.read(Buffer.from(bytes));
      parseCgiHead(Buffer.from(bytes).latin1Slice());
      return failures <= 1;
    }),
  );
  t.pass();
});
