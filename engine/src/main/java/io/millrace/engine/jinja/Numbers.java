package io.millrace.engine.jinja;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;

/// Python's arithmetic: integers of any size, floats, truth values as integers.
final class Numbers {
    private static final int EXACT_IN_DOUBLE_BITS = 53;
    private static final MathContext QUOTIENT = new MathContext(60);

    private Numbers() {}

    static boolean isNumber(Value value) {
        return isInteger(value) || value instanceof Value.Real;
    }

    static boolean isInteger(Value value) {
        return value instanceof Value.Int || value instanceof Value.Bool;
    }

    static boolean isNan(Value value) {
        return value instanceof Value.Real(double number) && Double.isNaN(number);
    }

    /// @throws JinjaException if the value is no integer
    static BigInteger integer(Value value) {
        return switch (value) {
            case Value.Int(BigInteger number) -> number;
            case Value.Bool flag -> flag == Value.Bool.TRUE ? BigInteger.ONE : BigInteger.ZERO;
            case Value.Undefined(String reason) -> throw JinjaException.runtime(reason);
            default ->
                throw JinjaException.runtime(
                        "'" + Python.typeName(value) + "' object cannot be interpreted as an integer");
        };
    }

    static double real(Value value) {
        if (value instanceof Value.Real(double number)) {
            return number;
        }
        double number = integer(value).doubleValue();
        if (Double.isInfinite(number)) {
            throw JinjaException.runtime("int too large to convert to float");
        }
        return number;
    }

    /// Order of two numbers that are not NaN.
    static int compare(Value a, Value b) {
        if (isInteger(a) && isInteger(b)) {
            return integer(a).compareTo(integer(b));
        }
        if (a instanceof Value.Real(double x) && b instanceof Value.Real(double y)) {
            return x == y ? 0 : Double.compare(x, y);
        }
        if (a instanceof Value.Real(double x)) {
            return Double.isInfinite(x) ? (x > 0 ? 1 : -1) : new BigDecimal(x).compareTo(new BigDecimal(integer(b)));
        }
        return -compare(b, a);
    }

    static Value calculate(BinaryOperator operator, Value a, Value b, Budget budget) {
        boolean integers = isInteger(a) && isInteger(b);
        Value result = switch (operator) {
            case ADD -> integers ? new Value.Int(integer(a).add(integer(b))) : new Value.Real(real(a) + real(b));
            case SUBTRACT ->
                integers ? new Value.Int(integer(a).subtract(integer(b))) : new Value.Real(real(a) - real(b));
            case MULTIPLY ->
                integers ? new Value.Int(multiply(integer(a), integer(b), budget)) : new Value.Real(real(a) * real(b));
            case DIVIDE -> new Value.Real(divide(a, b));
            case FLOOR_DIVIDE -> integers ? floorDivide(a, b) : new Value.Real(floorDivide(real(a), real(b)));
            case MODULO -> integers ? modulo(a, b) : new Value.Real(modulo(real(a), real(b), "float modulo"));
            case POWER -> power(a, b, budget);
        };
        if (result instanceof Value.Int(BigInteger number)) {
            budget.integerBits(number.bitLength());
        }
        return result;
    }

    private static BigInteger multiply(BigInteger a, BigInteger b, Budget budget) {
        budget.integerBits((long) a.bitLength() + b.bitLength() - 1);
        return a.multiply(b);
    }

    private static double divide(Value a, Value b) {
        if (isInteger(a) && isInteger(b)) {
            BigInteger x = integer(a);
            BigInteger y = integer(b);
            if (y.signum() == 0) {
                throw JinjaException.runtime("division by zero");
            }
            if (x.signum() == 0) {
                return y.signum() < 0 ? -0.0 : 0.0;
            }
            if (x.bitLength() > EXACT_IN_DOUBLE_BITS || y.bitLength() > EXACT_IN_DOUBLE_BITS) {
                double quotient =
                        new BigDecimal(x).divide(new BigDecimal(y), QUOTIENT).doubleValue();
                if (Double.isInfinite(quotient)) {
                    throw JinjaException.runtime("integer division result too large for a float");
                }
                return quotient;
            }
            return x.doubleValue() / y.doubleValue();
        }
        double divisor = real(b);
        if (divisor == 0) {
            throw JinjaException.runtime("float division by zero");
        }
        return real(a) / divisor;
    }

    private static Value floorDivide(Value a, Value b) {
        BigInteger[] parts = floorDivision(integer(a), integer(b));
        return new Value.Int(parts[0]);
    }

    private static Value modulo(Value a, Value b) {
        return new Value.Int(floorDivision(integer(a), integer(b))[1]);
    }

    private static BigInteger[] floorDivision(BigInteger a, BigInteger b) {
        if (b.signum() == 0) {
            throw JinjaException.runtime("integer division or modulo by zero");
        }
        BigInteger[] parts = a.divideAndRemainder(b);
        if (parts[1].signum() != 0 && parts[1].signum() != b.signum()) {
            parts[0] = parts[0].subtract(BigInteger.ONE);
            parts[1] = parts[1].add(b);
        }
        return parts;
    }

    /// The remainder with the divisor's sign.
    private static double modulo(double a, double b, String operation) {
        if (b == 0) {
            throw JinjaException.runtime(operation + " by zero");
        }
        double remainder = a % b;
        if (remainder == 0) {
            return Math.copySign(0.0, b);
        }
        return (b < 0) == (remainder < 0) ? remainder : remainder + b;
    }

    private static double floorDivide(double a, double b) {
        if (b == 0) {
            throw JinjaException.runtime("float floor division by zero");
        }
        double remainder = a % b;
        double quotient = (a - remainder) / b;
        if (remainder != 0 && (b < 0) != (remainder < 0)) {
            quotient -= 1;
        }
        if (quotient == 0) {
            return Math.copySign(0.0, a / b);
        }
        double floor = Math.floor(quotient);
        return quotient - floor > 0.5 ? floor + 1 : floor;
    }

    private static Value power(Value a, Value b, Budget budget) {
        if (isInteger(a) && isInteger(b) && integer(b).signum() >= 0) {
            BigInteger base = integer(a);
            BigInteger exponent = integer(b);
            if (base.bitLength() <= 1 && base.signum() >= 0) {
                return new Value.Int(exponent.signum() == 0 ? BigInteger.ONE : base);
            }
            int times = exponent.bitLength() > 30 ? Integer.MAX_VALUE : exponent.intValueExact();
            if (base.equals(BigInteger.ONE.negate())) {
                return new Value.Int(exponent.testBit(0) ? base : BigInteger.ONE);
            }
            budget.integerBits((long) Math.max(1, base.abs().bitLength() - 1) * times);
            return new Value.Int(base.pow(times));
        }
        double base = real(a);
        double exponent = real(b);
        if (base == 0 && exponent < 0) {
            throw JinjaException.runtime("0.0 cannot be raised to a negative power");
        }
        if (base < 0 && exponent != Math.rint(exponent)) {
            throw JinjaException.unsupported("a complex number");
        }
        if (base == 1 || exponent == 0) {
            return new Value.Real(1.0);
        }
        if (base == -1 && Double.isInfinite(exponent)) {
            return new Value.Real(1.0);
        }
        double power = Math.pow(base, exponent);
        if (Double.isInfinite(power) && !Double.isInfinite(base) && !Double.isInfinite(exponent)) {
            throw JinjaException.runtime("Numerical result out of range");
        }
        return new Value.Real(power);
    }

    static Value negate(Value value) {
        return value instanceof Value.Real(double number)
                ? new Value.Real(-number)
                : new Value.Int(integer(value).negate());
    }

    /// A float as Python prints it: the shortest digits that read back, an exponent below 1e-4 and from
    /// 1e16 on.
    static String text(double number) {
        if (Double.isNaN(number)) {
            return "nan";
        }
        if (Double.isInfinite(number)) {
            return number > 0 ? "inf" : "-inf";
        }
        if (number == 0) {
            return 1 / number < 0 ? "-0.0" : "0.0";
        }
        BigDecimal shortest = new BigDecimal(Double.toString(Math.abs(number))).stripTrailingZeros();
        String digits = shortest.unscaledValue().toString();
        int exponent = digits.length() - 1 - shortest.scale();
        StringBuilder text = new StringBuilder(number < 0 ? "-" : "");
        if (exponent < -4 || exponent >= 16) {
            text.append(digits.charAt(0));
            if (digits.length() > 1) {
                text.append('.').append(digits, 1, digits.length());
            }
            int size = Math.abs(exponent);
            return text.append(exponent < 0 ? "e-" : "e+")
                    .append(size < 10 ? "0" : "")
                    .append(size)
                    .toString();
        }
        String plain = shortest.toPlainString();
        return text.append(plain).append(plain.indexOf('.') < 0 ? ".0" : "").toString();
    }
}
