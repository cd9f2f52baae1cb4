package io.millrace.kernels.scalar;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.RowQuantization;
import io.millrace.kernels.Selection;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/// Multi-head latent attention with its lightning indexer, one row after the other.
final class AttentionLoops {
    private AttentionLoops() {}

    static void prolog(
            MlaWeights weights,
            float[] x,
            RowBatch batch,
            int row,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer) {
        MlaShape s = weights.shape();
        float[] hidden = x;
        Activations.rmsNorm(hidden, s.hiddenSize(), weights.inputNorm(), s.rmsEps());
        float[] queryLatent = Elements.product(weights.qA(), hidden, 0);
        Activations.rmsNorm(queryLatent, s.qLoraRank(), weights.qANorm(), s.latentRmsEps());
        float[] heads = Elements.product(weights.qB(), queryLatent, 0);
        int headRow = s.nopeDim() + s.ropeDim();
        int queryRow = s.queryRow(out.form());
        for (int h = 0; h < s.heads(); h++) {
            Activations.rotate(heads, h * headRow + s.nopeDim(), s.ropeStyle(), rope, row);
            float[] query = new float[queryRow];
            if (out.form() == MlaForm.ABSORBED) {
                float[] absorbed = Elements.product(weights.keyAbsorb().get(h), heads, h * headRow);
                System.arraycopy(absorbed, 0, query, 0, s.kvLoraRank());
                System.arraycopy(heads, h * headRow + s.nopeDim(), query, s.kvLoraRank(), s.ropeDim());
            } else {
                System.arraycopy(heads, h * headRow, query, 0, headRow);
            }
            Elements.setRow(out.query(), (long) row * s.heads() + h, query);
        }
        float[] latent = Elements.product(weights.kvA(), hidden, 0);
        Activations.rmsNorm(latent, s.kvLoraRank(), weights.kvANorm(), s.latentRmsEps());
        Activations.rotate(latent, s.kvLoraRank(), s.ropeStyle(), rope, row);
        Elements.store(out.latent(), batch.pages(row), batch.slot(row), latent);
        if (indexer != null) {
            indexerProlog(indexer, hidden, queryLatent, batch, row, rope);
        }
    }

    private static void indexerProlog(
            IndexerProlog indexer, float[] hidden, float[] queryLatent, RowBatch batch, int row, RopeRows rope) {
        IndexerWeights w = indexer.weights();
        float[] query = Elements.product(w.queryB(), queryLatent, 0);
        for (int h = 0; h < w.heads(); h++) {
            Activations.rotate(query, h * w.headDim(), w.ropeStyle(), rope, row);
        }
        Elements.setRow(indexer.query(), row, query);
        float[] headWeights = Elements.product(w.headWeights(), hidden, 0);
        double scale = 1 / Math.sqrt((double) w.heads() * w.headDim());
        for (int h = 0; h < w.heads(); h++) {
            headWeights[h] = (float) (headWeights[h] * scale);
        }
        Elements.setRow(indexer.headWeights(), row, headWeights);
        float[] key = Elements.product(w.key(), hidden, 0);
        Activations.layerNorm(key, w.keyNormGain(), w.keyNormBias(), IndexerWeights.KEY_NORM_EPS);
        Activations.rotate(key, 0, w.ropeStyle(), rope, row);
        Elements.store(indexer.keys(), batch.pages(row), batch.slot(row), key);
    }

    static void select(IndexerProlog indexer, RowBatch batch, int row, Selection selection) {
        IndexerWeights w = indexer.weights();
        int visible = batch.visible(row);
        if (visible <= w.topK()) {
            selection.selectAll(row, visible);
            return;
        }
        float[] query = Elements.row(indexer.query(), row, w.heads() * w.headDim());
        float[] headWeights = Elements.row(indexer.headWeights(), row, w.heads());
        float[] scores = indexer.keys().format() == KvFormat.INT8
                ? integerScores(indexer, batch, row, query, headWeights)
                : floatScores(indexer, batch, row, query, headWeights);
        int[] best = Ranking.best(scores, w.topK());
        for (int i = 0; i < best.length; i++) {
            best[i] += batch.firstSlot();
        }
        selection.select(row, best, best.length);
    }

    private static float[] floatScores(
            IndexerProlog indexer, RowBatch batch, int row, float[] query, float[] headWeights) {
        IndexerWeights w = indexer.weights();
        float[] scores = new float[batch.visible(row)];
        for (int i = 0; i < scores.length; i++) {
            float[] key = Elements.cached(indexer.keys(), batch.pages(row), batch.firstSlot() + i);
            double score = 0;
            for (int h = 0; h < w.heads(); h++) {
                double dot = Elements.dot(query, h * w.headDim(), key, 0, w.headDim());
                score += headWeights[h] * Math.max(0, dot);
            }
            scores[i] = (float) score;
        }
        return scores;
    }

    private static float[] integerScores(
            IndexerProlog indexer, RowBatch batch, int row, float[] query, float[] headWeights) {
        IndexerWeights w = indexer.weights();
        byte[] codes = new byte[query.length];
        float[] scaled = new float[w.heads()];
        for (int h = 0; h < w.heads(); h++) {
            scaled[h] = headWeights[h] * RowQuantization.quantize(query, h * w.headDim(), w.headDim(), codes);
        }
        float[] scores = new float[batch.visible(row)];
        for (int i = 0; i < scores.length; i++) {
            byte[] key = Elements.codes(indexer.keys(), batch.pages(row), batch.firstSlot() + i);
            float score = 0;
            for (int h = 0; h < w.heads(); h++) {
                int dot = Elements.dot(codes, h * w.headDim(), key, 0, w.headDim());
                score = Math.fma(scaled[h], (float) Math.max(0, dot), score);
            }
            scores[i] = score * Elements.partScale(indexer.keys(), batch.pages(row), batch.firstSlot() + i, 0);
        }
        return scores;
    }

    static float[] attend(MlaWeights weights, AttentionRows input, RowBatch batch, int row, Selection selection) {
        MlaShape s = weights.shape();
        int count = selection.count(row);
        float[][] keys = new float[count][];
        for (int i = 0; i < count; i++) {
            keys[i] = Elements.cached(input.latent(), batch.pages(row), selection.slot(row, i));
        }
        float[] y = new float[s.heads() * s.vDim()];
        for (int h = 0; h < s.heads(); h++) {
            float[] query = Elements.row(input.query(), (long) row * s.heads() + h, s.queryRow(input.form()));
            if (input.latent().format() == KvFormat.INT8 && input.form() == MlaForm.ABSORBED) {
                roundQuery(query, s.kvLoraRank());
            }
            float[] out = switch (input.form()) {
                case ABSORBED -> absorbedHead(weights, h, query, keys);
                case NAIVE -> naiveHead(weights, h, query, keys);
            };
            System.arraycopy(out, 0, y, h * s.vDim(), s.vDim());
        }
        return y;
    }

    /// Products of rounded values are exact in double precision, so the float loops serve int8 too.
    private static void roundQuery(float[] query, int firstPart) {
        byte[] codes = new byte[query.length];
        float first = RowQuantization.quantize(query, 0, firstPart, codes);
        float second = RowQuantization.quantize(query, firstPart, query.length - firstPart, codes);
        for (int i = 0; i < query.length; i++) {
            query[i] = codes[i] * (i < firstPart ? first : second);
        }
    }

    private static float[] absorbedHead(MlaWeights weights, int head, float[] query, float[][] keys) {
        MlaShape s = weights.shape();
        double[] p = new double[keys.length];
        for (int i = 0; i < keys.length; i++) {
            p[i] = Elements.dot(query, 0, keys[i], 0, s.cacheRow()) * s.softmaxScale();
        }
        softmax(p);
        return Elements.product(weights.valueUp().get(head), weightedSum(p, keys, s.kvLoraRank()), 0);
    }

    private static float[] naiveHead(MlaWeights weights, int head, float[] query, float[][] keys) {
        MlaShape s = weights.shape();
        double[] p = new double[keys.length];
        float[][] values = new float[keys.length][];
        for (int i = 0; i < keys.length; i++) {
            float[] key = Elements.product(weights.keyUp().get(head), keys[i], 0);
            double nope = Elements.dot(query, 0, key, 0, s.nopeDim());
            double rope = Elements.dot(query, s.nopeDim(), keys[i], s.kvLoraRank(), s.ropeDim());
            p[i] = (nope + rope) * s.softmaxScale();
            values[i] = Elements.product(weights.valueUp().get(head), keys[i], 0);
        }
        softmax(p);
        return weightedSum(p, values, s.vDim());
    }

    private static void softmax(double[] scores) {
        double max = Arrays.stream(scores).max().orElse(0);
        double sum = 0;
        for (int i = 0; i < scores.length; i++) {
            scores[i] = Activations.flushedExp(scores[i] - max);
            sum += scores[i];
        }
        for (int i = 0; i < scores.length; i++) {
            scores[i] /= sum;
        }
    }

    private static float[] weightedSum(double[] p, float[][] rows, int width) {
        float[] sum = new float[width];
        for (int d = 0; d < width; d++) {
            double value = 0;
            for (int i = 0; i < rows.length; i++) {
                value += p[i] * rows[i][d];
            }
            sum[d] = (float) value;
        }
        return sum;
    }
}
