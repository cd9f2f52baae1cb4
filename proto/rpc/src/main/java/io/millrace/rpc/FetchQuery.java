package io.millrace.rpc;

import com.google.protobuf.ByteString;
import java.util.List;

/// Which blocks to fetch, under which lease.
///
/// @param leaseId    a lease the client's holder is part of (by match or pin)
/// @param namespace  32 bytes
/// @param blockIds   ids of full blocks and tails, in the order wanted
/// @param sections   what each block consists of
public record FetchQuery(String leaseId, ByteString namespace, List<ByteString> blockIds, SectionSizes sections) {
    public FetchQuery {
        blockIds = List.copyOf(blockIds);
    }
}
