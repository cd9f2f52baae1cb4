"""Makes vectors.json beside it: tokens drawn by an independent implementation of the sampler (python3 vectors.py).

Philox-4x32-10, counter words (token position, purpose 0, choice index, token id // 4), key (seed low, seed high); the word
number id % 4 is that token's; u = (word + 0.5) / 2^32; noise = -log(-log(u)). Filters in the order temperature, min-p,
top-k, top-p; ties go to the lower id. The logit of token i is ((i * 37) % 101) / 20 - 2.
"""
import json, math, os

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = 0xffffffff


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def draw(logits, temperature, top_k, top_p, min_p, seed, choice, position):
    if temperature == 0:
        return max(range(len(logits)), key=lambda i: (logits[i], -i))
    best = max(logits)
    scaled = [(x - best) / temperature for x in logits]
    kept = sorted((i for i in range(len(logits)) if math.exp(scaled[i]) >= min_p), key=lambda i: (-scaled[i], i))
    kept = kept[:top_k] if top_k else kept
    if top_p < 1:
        total, mass, n = sum(math.exp(scaled[i]) for i in kept), 0.0, 0
        while n < len(kept) and mass < top_p * total:
            mass += math.exp(scaled[kept[n]])
            n += 1
        kept = kept[:max(n, 1)]

    def score(i):
        word = philox([position, 0, choice, i // 4], [seed & MASK, seed >> 32])[i % 4]
        return scaled[i] - math.log(-math.log((word + 0.5) / 2 ** 32))
    return max(kept, key=lambda i: (score(i), -i))


def main():
    assert philox([0] * 4, [0] * 2) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
    cases = []
    for vocab, temperature, top_k, top_p, min_p, seed, choice in (
            (101, 1.0, 0, 1.0, 0.0, 0, 0), (1000, 1.0, 0, 1.0, 0.0, 42, 0), (1000, 0.5, 0, 1.0, 0.0, 2 ** 64 - 1, 3),
            (1000, 1.5, 40, 1.0, 0.0, 2 ** 40 + 5, 1), (1000, 1.0, 0, 0.75, 0.0, 7, 0), (1000, 0.75, 50, 0.5, 0.125, 7, 9),
            (1000, 2.0, 0, 1.0, 0.25, 123456789, 0), (333, 0.0, 0, 1.0, 0.0, 1, 0)):
        logits = [((i * 37) % 101) / 20 - 2 for i in range(vocab)]
        ids = [draw(logits, temperature, top_k, top_p, min_p, seed, choice, p) for p in range(40)]
        cases.append({'vocabSize': vocab, 'temperature': temperature, 'topK': top_k, 'topP': top_p, 'minP': min_p,
                      'seed': str(seed), 'choiceIndex': choice, 'ids': ids})
    with open(os.path.join(HERE, 'vectors.json'), 'w') as f:
        json.dump(cases, f)
        f.write('\n')


if __name__ == '__main__':
    main()
