/** Certificates, and when they end. */
import { count, date } from './format.js';
import { live } from './live.js';
import { EXPIRY_DAYS, URGENT_DAYS } from './problems.js';
import { Missing, Panel } from './shell.js';
import { State } from './state-mark.js';
import { Table, type Column } from './table.js';
import type { Certificate } from './types.js';
import { useValue } from './value.js';

function stateOf({ expired, days_left: days }: Certificate) {
  if (expired) return <State state="bad" word="expired" />;
  if (days <= URGENT_DAYS) return <State state="bad" word="ends now" />;
  return days <= EXPIRY_DAYS ? <State state="warn" word="ends soon" /> : <State state="good" word="valid" />;
}

const COLUMNS: readonly Column<Certificate>[] = [
  { title: 'Names', of: ({ names, subject }) => (names.length > 0 ? names.join(', ') : subject) },
  { title: 'State', of: stateOf },
  { title: 'Days left', isNumber: true, of: ({ days_left: days }) => count(days) },
  { title: 'Ends', of: ({ not_after: end }) => <time dateTime={end}>{date(end)}</time> },
  { title: 'Key', of: ({ cert_type: type }) => type },
  { title: 'From', of: ({ source }) => source },
  { title: 'Issuer', of: ({ issuer }) => issuer },
];

export function Certificates() {
  const certificates = useValue(live.certificates);
  return (
    <>
      <h1 class="hidden">Certificates</h1>
      <Panel title="Certificates" note={certificates && count(certificates.length)}>
        {certificates === undefined ? (
          <Missing part="certificates" />
        ) : certificates.length === 0 ? (
          <p class="empty">No server has a certificate.</p>
        ) : (
          <Table label="Certificates" rows={certificates} columns={COLUMNS} id={({ fingerprint }) => fingerprint} />
        )}
      </Panel>
    </>
  );
}
