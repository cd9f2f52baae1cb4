"""Makes vectors.json beside it: identity of KV blocks, computed by this script alone (no code shared with the engine).

    python3 vectors.py [path of the repository]

namespace: SHA-256 over `millrace-kv-1`, weights digest, adapter digest, tenant salt, numerics id, layout id, each as
u32-LE length and bytes. chain: id_n = SHA-256(id_{n-1}, 64 tokens as u32 LE). checksums: CRC32C over block id, layer
as u32 LE, data. weights: SHA-256 over config.json (u32-LE length, bytes), then per tensor in name order: u32 length and
name, u32 length and dtype, u32 rank and u64 extents, SHA-256 of its data.
"""
import hashlib, json, os, struct, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, *['..'] * 5)


def field(b):
    return struct.pack('<I', len(b)) + b


def namespace(weights, adapter, salt, numerics, layout):
    parts = [b'millrace-kv-1', weights, adapter, salt, numerics.encode(), layout.encode()]
    return hashlib.sha256(b''.join(field(p) for p in parts)).digest()


def chain(start, tokens):
    ids, previous = [], start
    for i in range(len(tokens) // 64):
        previous = hashlib.sha256(previous + struct.pack('<64I', *tokens[64 * i:64 * i + 64])).digest()
        ids.append(previous.hex())
    return ids


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def weights(folder):
    config = open(os.path.join(folder, 'config.json'), 'rb').read()
    with open(os.path.join(folder, 'model.safetensors'), 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        data = f.read()
    total = hashlib.sha256(field(config))
    for name in sorted(k for k in header if k != '__metadata__'):
        info = header[name]
        total.update(field(name.encode()) + field(info['dtype'].encode()))
        total.update(struct.pack('<I%dQ' % len(info['shape']), len(info['shape']), *info['shape']))
        total.update(hashlib.sha256(data[info['data_offsets'][0]:info['data_offsets'][1]]).digest())
    return total.hexdigest()


def main():
    digest = lambda text: hashlib.sha256(text.encode()).digest()
    cases = [
        (digest('weights a'), bytes(32), bytes(32), 'bf16/kv-bf16/topk-2048', 'layout-1'),
        (digest('weights a'), bytes(32), digest('tenant 7'), 'bf16/kv-bf16/topk-2048', 'layout-1'),
        (digest('weights b'), digest('adapter'), digest('tenant 7'), 'zahlenformat-ä-数', ''),
    ]
    out = {'namespaces': [], 'chains': [], 'checksums': [], 'weights': []}
    for c in cases:
        out['namespaces'].append({'weightsDigest': c[0].hex(), 'adapterDigest': c[1].hex(), 'tenantSalt': c[2].hex(),
                                  'numericsId': c[3], 'layoutId': c[4], 'namespace': namespace(*c).hex()})
    for case, count, step in ((0, 63, 1), (0, 64, 1), (1, 129, 7), (2, 320, 65537)):
        start = namespace(*cases[case])
        tokens = [(i * step) % 154880 for i in range(count)]
        out['chains'].append({'namespace': start.hex(), 'tokens': tokens, 'ids': chain(start, tokens)})
    for block, layer, size in ((digest('block'), 0, 0), (digest('block'), 7, 1), (b'lease-1/0/1#0', 78, 300)):
        data = bytes(i * 31 & 255 for i in range(size))
        out['checksums'].append({'blockId': block.hex(), 'layer': layer, 'data': data.hex(),
                                 'crc32c': '%08x' % crc32c(block + struct.pack('<I', layer) + data)})
    golden = 'engine/src/test/resources/golden/'
    for folder in (golden + 'glm5-tiny', golden + 'glm5-fp8-tiny', golden + 'deepseek-v32-tiny', 'models/mini'):
        out['weights'].append({'folder': folder, 'digest': weights(os.path.join(ROOT, folder))})
    with open(os.path.join(HERE, 'vectors.json'), 'w') as f:
        json.dump(out, f, indent=1, ensure_ascii=True)
        f.write('\n')


if __name__ == '__main__':
    assert crc32c(b'123456789') == 0xe3069283
    main()
