/** Fields of requests by which responses vary, in one form (RFC 9111, 4.1). */

/** Equal for values that mean the same: spaces around commas are nothing, and languages have no case and no order but that of their weights. */
export function selectingValue(lowerName: string, value: string | undefined): string {
  if (value === undefined) return '';
  const members = value
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  if (lowerName !== 'accept-language') return `=${members.join(',')}`;
  const ranges = members.map((member) => member.toLowerCase().replace(/\s+/g, ''));
  return `=${ranges.toSorted((a, b) => weightOf(b) - weightOf(a) || (a < b ? -1 : 1)).join(',')}`;
}

function weightOf(range: string): number {
  const [, weight] = /;q=([\d.]+)/.exec(range) ?? [];
  return Number(weight ?? 1) || 0;
}
