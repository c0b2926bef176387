/**
 * How an upstream is in its zone. A structure is named by its byte offset, a multiple of 8; `F…` counts its numbers of 8 bytes, `W…` its
 * words of 4. All of it is read and written with the zone's lock held.
 */

/**
 * A member's record: numbers. The numbers that each choice reads are at their end, next to the words that it reads: in as few cache lines
 * as possible.
 */
export const enum F {
  /** Responses 1xx to 5xx. */
  responses = 0,
  sent = responses + 5,
  received,
  downtime,
  downstart,
  /** Averages in milliseconds: to a connection (of sessions), to the head or the first byte, to the end. */
  connectTime,
  headerTime,
  responseTime,
  selected,
  requests,
  /** Current weight; in a class: what it was in round 0 of the rotation; in a heap: its place among those of equal load. */
  key,
  checked,
  COUNT,
}

/** A member's record: words, after its numbers. */
export const enum W {
  flags = F.COUNT * 2,
  active,
  maxConns,
  maxFails,
  fails,
  failTimeout,
  /** Where the threads of this node keep their Peer of it. */
  slot,
  /** The list it is in ({@link Home}). */
  home,
  /** Links in that list; in a heap {@link W.next} is its place there. */
  next,
  before,
  /** Offset of the class of its weight. */
  weightClass,
  /** In units of 1/{@link UNIT}, as the effective one is: failures and a slow start lower that. */
  weight,
  effective,
  /** Place in the configuration: of two equal members the first one is chosen. */
  order,
  /** Failed attempts, and how often it became unavailable. */
  failed,
  unavail,
  /** Its identity, as {@link memberId} takes it apart. */
  memberKey,
  addressIndex,
  /** The next record in the same bucket of the table of members. */
  bucketNext,
  /** The first chunk of counts by status code. */
  codes,
  /** Its address as text, if that came from a name. */
  address,
  /** For the method of the upstream: what a module's balancer keeps of a member, in all threads. */
  spare,
  spare2,
  /** The orders by time have no such method: how long a response takes, and since when none has come (epoch milliseconds, 32 bits). */
  measured = spare,
  since = spare2,
  /** Offset of what its slow start needs, 0: it has none. */
  slow = since + 1,
  /** Requests that each worker has on it: {@link MIN_WORKERS} words at least. */
  perWorker,
}

/** Parts of a weight of 1. */
export const UNIT = 256;

/** So many words fill the size class of 256 bytes. */
export const MIN_WORKERS = 8;

export const recordBytes = (workers: number): number => (W.perWorker + workers) * 4;

/** The slow start of a member: numbers. */
export const enum SlowF {
  /** Epoch milliseconds; 0: it has its full weight. */
  started = 0,
}

/** The slow start of a member: words. */
export const enum SlowW {
  /** How long it takes. Milliseconds. */
  duration = 2,
  /** Its current share of a turn. */
  saved,
  /** Its present weight as it was at the last look; the whole one when it is not starting. */
  weight,
  /** Links in the ring of starting members. */
  next,
  before,
  COUNT = 8,
}

/** Bits of {@link W.flags}. A member with any of {@link Flag.IDLE} gets no requests. */
export const enum Flag {
  BACKUP = 1,
  DOWN = 2,
  DRAIN = 4,
  /** Made by a change that is not active yet. */
  PENDING = 8,
  /** Removed; some requests still run. */
  GONE = 16,
  /** The request that is being placed has tried it. */
  TRIED = 32,
  /** A health check found it unfit, or has not responded yet. */
  UNHEALTHY = 64,
  CHECKING = 128,
  /** It was chosen since it failed last, in a new window for counting failures: a success clears what it had before. */
  TRIAL = 256,
  IDLE = DOWN | DRAIN | PENDING | GONE | TRIED | UNHEALTHY | CHECKING,
}

/** The list a member is in. */
export const enum Home {
  /** None: it cannot be chosen until something happens to it. */
  none = 0,
  /** The class of its weight: in full health. */
  weightClass,
  /** Its effective weight is reduced: looked at one by one. */
  suspect,
  /** It failed too often and waits for its fail_timeout. */
  resting,
  /** The heap of a rotation that goes by load. */
  heap,
}

/** Order of a rotation. */
export const enum Order {
  /** Smooth weighted round robin. */
  turns = 0,
  /** Fewest active requests for its weight. */
  load,
  /** Least time to a connection, to the header or first byte, or to the end of responses, times active requests, for its weight. */
  connectTime,
  headerTime,
  responseTime,
  /** The same, where requests that are not over count. */
  connectInflight,
  headerInflight,
  responseInflight,
}

const ORDERS = [
  Order.turns,
  Order.load,
  Order.connectTime,
  Order.headerTime,
  Order.responseTime,
  Order.connectInflight,
  Order.headerInflight,
  Order.responseInflight,
] as const;

/** The order that a word of a zone names. */
export const orderOf = (word: number): Order => ORDERS[word] ?? Order.turns;

export const isInflight = (order: Order): boolean => order >= Order.connectInflight;

/** An entry of a heap by load: numbers. */
export const enum HeapF {
  load = 0,
  /** {@link F.key} of its record. */
  key,
}

/** An entry of a heap by load: words, after its numbers. */
export const enum HeapW {
  record = 4,
  /** {@link W.order} of its record. */
  order,
  COUNT,
}

export const HEAP_ENTRY_BYTES = HeapW.COUNT * 4;

/** A class of weight: all members in full health that have it, the one to be chosen next first. */
export const enum WeightClass {
  weight = 0,
  head,
  tail,
  next,
  /** Members of this weight, in any list: the class exists as long as there are some. */
  members,
  COUNT,
}

/** A rotation (primary or backup members): numbers. */
export const enum RotationF {
  /** How often one was chosen; by load: the largest key of one that was chosen. */
  rounds = 0,
  /** Weights of all members in the classes. */
  total,
}

/** A rotation: words. */
export const enum RotationW {
  classes = 4,
  suspects,
  resting,
  /** Where the search for rested members goes on. */
  hand,
  /** {@link Order} */
  order,
  /** Offset of the heap; how many it has room for; how many are in it. */
  heap,
  heapRoom,
  heapSize,
  /** One of the members in their slow start, 0: there are none. */
  starting,
  /** Choices by response time. */
  choices,
  COUNT,
}

/** The head of an upstream: two rotations, then words. */
export const enum UpstreamW {
  backup = RotationW.COUNT,
  epoch = RotationW.COUNT * 2,
  /** Current members. */
  count,
  /** Records in the table: these, and those of a change that is being prepared. */
  records,
  /** Removed members, linked by {@link W.bucketNext}. */
  zombies,
  buckets,
  mask,
  nextOrder,
  workers,
  /** Offset of what the workers know of each other's queues, 0: there is no `queue`. */
  queue,
  /** Idle connections of each worker. */
  idle,
}

/** The queue of an upstream: words. */
export const enum QueueW {
  /** Requests that found it full. */
  overflows = 0,
  nextTicket,
  /** Of each worker {@link QueuePlaceW}. */
  places,
}

/** The queue of a worker: words. */
export const enum QueuePlaceW {
  waiting = 0,
  /** Of its first request, 0: none waits for its turn. */
  ticket,
  COUNT,
}

export const upstreamBytes = (workers: number): number => (UpstreamW.idle + workers) * 4;

/** A chunk of counts by status code: offset of the next chunk, so many codes of 16 bits, then their counts. */
export const CODES_IN_CHUNK = 6;
export const CHUNK_BYTES = 64;
/** First code, in units of 2 bytes; first count, in units of 8 bytes. */
export const CHUNK_CODES = 2;
export const CHUNK_COUNTS = 2;

/** The identity of a member in its upstream: the key of its `server` line, and for a name which of its addresses. */
export const memberId = (key: number, addressIndex: number): number => key + addressIndex * 2 ** 32;
