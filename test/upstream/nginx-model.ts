/** The balancing of nginx (ngx_http_upstream_round_robin.c) written down naively: what the real one is compared with. */
export interface ModelPeer {
  readonly name: number;
  weight: number;
  effective: number;
  current: number;
  maxConns: number;
  maxFails: number;
  failTimeout: number;
  backup: boolean;
  down: boolean;
  fails: number;
  conns: number;
  checked: number;
  accessed: number;
}

export class NginxModel {
  constructor(readonly peers: ModelPeer[]) {}

  pick(now: number, tried: ReadonlySet<number>): ModelPeer | undefined {
    const chosen = this.#from(false, now, tried) ?? this.#from(true, now, tried);
    if (chosen) chosen.conns++;
    return chosen;
  }

  free(peer: ModelPeer, failed: boolean, now: number): void {
    peer.conns--;
    if (this.peers.length === 1) {
      peer.fails = 0;
    } else if (failed) {
      peer.fails++;
      peer.accessed = now;
      peer.checked = now;
      if (peer.maxFails > 0) peer.effective = Math.max(0, peer.effective - Math.floor(peer.weight / peer.maxFails));
    } else if (peer.accessed < peer.checked) peer.fails = 0;
  }

  #from(backup: boolean, now: number, tried: ReadonlySet<number>): ModelPeer | undefined {
    let best: ModelPeer | undefined;
    let total = 0;
    for (const peer of this.peers) {
      if (peer.backup !== backup || tried.has(peer.name) || peer.down) continue;
      if (peer.maxFails > 0 && peer.fails >= peer.maxFails && now - peer.checked <= peer.failTimeout) continue;
      if (peer.maxConns > 0 && peer.conns >= peer.maxConns) continue;
      peer.current += peer.effective;
      total += peer.effective;
      if (peer.effective < peer.weight) peer.effective++;
      if (!best || peer.current > best.current) best = peer;
    }
    if (!best) return undefined;
    best.current -= total;
    if (now - best.checked > best.failTimeout) best.checked = now;
    return best;
  }
}
